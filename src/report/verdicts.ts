import type { PowerVerdict } from "../model/power.ts";

/** Each verdict for whoever reads it at night: what it means, and what to do. At most 50 characters. */
export const MEANS: { readonly [verdict in PowerVerdict]: string } = {
  ok: "answered as a conductor will ask",
  unreachable: "no answer: look at cable, network, pm_address",
  "port-closed": "port is closed: enable IPMI over LAN there",
  "no-ipmi2": "IPMI 1.5 only: update or replace the BMC",
  "cipher-refused": "neither suite 3 nor 17: enable one in the BMC",
  "no-slots": "all sessions in use: close some, ask again",
  "wrong-user": "user name not known there: correct pm_user",
  "wrong-password": "password refused: correct pm_password",
  "wrong-kg": "has a second key (Kg): clear it, or set it",
  "privilege-refused": "user is below OPERATOR: raise it in the BMC",
  busy: "busy each time: ask again later",
  "protocol-error": "answers what makes no sense: see its line",
  silent: "goes silent midway: lost datagrams, or pm_user",
  "no-session": "ipmitool gets no login: ask natively for why",
  deadline: "too slow: ask again with a longer --deadline",
  incomplete: "not asked: address, user or password unusable",
  virtual: "not asked: its host's ssh settings are missing",
  iboot: "not asked: iBoot has no BMC",
  tilera: "not asked: Tilera has no BMC",
  fake: "not asked: fake power has no BMC",
  "other-power": "not asked: its power manager is not known",
};

/** Every verdict but ok, for `--only`. */
export const FAILED: readonly string[] = Object.keys(MEANS).filter((verdict) => verdict !== "ok");
