/** Makers of BMCs by IANA enterprise number. @source IANA enterprise-numbers, as ipmitool ships it */
const VENDORS: { readonly [number: number]: string } = {
  2: "IBM",
  11: "HP",
  42: "Sun",
  111: "Oracle",
  119: "NEC",
  343: "Intel",
  674: "Dell",
  2011: "Huawei",
  2623: "ASUS",
  5771: "Cisco",
  6653: "Tyan",
  7244: "Quanta",
  10368: "Fujitsu",
  10437: "Peppercon",
  10876: "Supermicro",
  15000: "Kontron",
  15370: "Gigabyte",
  19046: "Lenovo",
  20301: "IBM",
  20569: "Inventec",
  37945: "Inspur",
  40092: "Wiwynn",
  47196: "HPE",
  49622: "ASRock Rack",
  52538: "Ampere",
};

/** `Dell`, or `IANA 4753` where the number is of nobody we know; null: the BMC was not asked. */
export function vendorOf(manufacturer: number | null): string | null {
  if (manufacturer === null) return null;
  return VENDORS[manufacturer] ?? `IANA ${manufacturer}`;
}
