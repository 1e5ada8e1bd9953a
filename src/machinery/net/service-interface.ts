// The names of interfaces that a cluster creates on a machine. An address on such an interface is
// not the machine's own, and other machines do not reach this one by it.

const SERVICES = 'cxs';
const PODS = 'cxv';
const PATTERN = /^cx[sv][0-9a-f]{10}$/;
const SERVICE_PATTERN = /^cxs[0-9a-f]{10}$/;
const BRIDGE_PATTERN = /^cox[0-9a-f]{10}$/;

/** Returns the name of the interface with service addresses. `id`: ten hexadecimal digits. */
export const serviceInterface = (id: string): string => named(SERVICES, id);

/**
 * Returns the name of the interface that leads to pods on other machines. `id`: ten hexadecimal
 * digits.
 */
export const podNetworkInterface = (id: string): string => named(PODS, id);

function named(prefix: string, id: string): string {
  const name = `${prefix}${id}`;
  if (!PATTERN.test(name))
    throw new RangeError(`${JSON.stringify(id)} is not ten hexadecimal digits`);
  return name;
}

export function isServiceInterface(name: string): boolean {
  return SERVICE_PATTERN.test(name);
}

/**
 * Reports whether a cluster has created the interface: for services, for pods on other machines, or
 * as the bridge of its pods.
 */
export function isClusterInterface(name: string): boolean {
  return PATTERN.test(name) || BRIDGE_PATTERN.test(name);
}
