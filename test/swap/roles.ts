// The roles of a cluster, who may play each, and which tests show that one plays its role.

export const roles = [
  'apiserver',
  'controller-manager',
  'scheduler',
  'kubelet',
  'proxy',
  'dns',
] as const;
export type Role = (typeof roles)[number];

/** Our program, or the one that upstream publishes. */
export type Maker = 'ours' | 'upstream';

/** A cluster in which one role has another maker than all others. */
export interface Swap {
  readonly role: Role;
  /** The maker of that role. */
  readonly maker: Maker;
}

/** Each role of ours among upstream's, and each of upstream's among ours. */
export const swaps: readonly Swap[] = (['ours', 'upstream'] as const).flatMap((maker) =>
  roles.map((role) => ({ role, maker })),
);

export const swapName = ({ role, maker }: Swap): string => `${role}=${maker}`;

export const makerOf = (swap: Swap, role: Role): Maker =>
  (role === swap.role) === (swap.maker === 'ours') ? 'ours' : 'upstream';

/** Parses `all`, or swaps such as `kubelet=ours,dns=upstream`. Returns undefined for another text. */
export function parseSwaps(text: string): readonly Swap[] | undefined {
  if (text === 'all') return swaps;
  const chosen = text.split(',').map((name) => swaps.find((swap) => swapName(swap) === name));
  return chosen.every((swap) => swap !== undefined) ? chosen : undefined;
}

const DNS = /^\[sig-network\] DNS /;
const tests: Readonly<Record<Role, (name: string) => boolean>> = {
  apiserver: (name) => /^\[sig-(?:api-machinery|auth)\]/.test(name),
  'controller-manager': (name) => name.startsWith('[sig-apps]'),
  scheduler: (name) => name.startsWith('[sig-scheduling]'),
  kubelet: (name) => name.startsWith('[sig-node]'),
  proxy: (name) => name.startsWith('[sig-network]') && !DNS.test(name),
  dns: (name) => DNS.test(name),
};

/** Returns whether a test of the suite belongs to the SIG that keeps this role. */
export const isTestOf = (role: Role, name: string): boolean => tests[role](name);
