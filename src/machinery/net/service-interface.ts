// The interfaces on which a machine has addresses of services. Their names tell them apart: such an address is not the machine's own, and
// no other machine reaches this one by it.

const PREFIX = 'cxs';
const PATTERN = /^cxs[0-9a-f]{10}$/;

/** `id`: ten hexadecimal digits. */
export function serviceInterface(id: string): string {
  const name = `${PREFIX}${id}`;
  if (!PATTERN.test(name)) throw new RangeError(`${JSON.stringify(id)} is not ten hexadecimal digits`);
  return name;
}

export function isServiceInterface(name: string): boolean {
  return PATTERN.test(name);
}
