export interface ServingHere {
  readonly url: string;
  readonly end: () => Promise<void>;
}

/**
 * Starts a service in this process, with these variables while it starts.
 *
 * @param serve what starts it, until what it hands its URL to resolves
 */
export async function servingHere(
  env: { readonly [name: string]: string },
  serve: (until: (url: string) => Promise<void>) => Promise<void>,
): Promise<ServingHere> {
  const before = { ...process.env };
  Object.assign(process.env, env);
  let end: () => void = () => undefined;
  const ending = new Promise<void>((resolve) => {
    end = resolve;
  });
  let ended: Promise<void> = Promise.resolve();
  try {
    const url = await new Promise<string>((resolve, reject) => {
      ended = serve((at) => {
        resolve(at);
        return ending;
      });
      ended.catch(reject);
    });
    return {
      url,
      end: () => {
        end();
        return ended;
      },
    };
  } finally {
    for (const name of Object.keys(env)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
}
