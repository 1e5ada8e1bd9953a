// The roles of a cluster, who may play each, and which tests show that one plays its role.

import { OLDEST_KUBELET } from '../skew/programs.ts';

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
  /** The version of upstream's program if it is another than that of the suite, such as v1.34.4. */
  readonly version?: string;
}

/** Each role of ours among upstream's, and each of upstream's among ours. */
export const swaps: readonly Swap[] = (['ours', 'upstream'] as const).flatMap((maker) =>
  roles.map((role) => ({ role, maker })),
);

/** Upstream's kubelet among roles of ours, two versions older than these: the oldest that may be. */
export const olderKubelet: Swap = { role: 'kubelet', maker: 'upstream', version: OLDEST_KUBELET };

/** All clusters that have results. */
export const recordedSwaps: readonly Swap[] = [...swaps, olderKubelet];

export const swapName = ({ role, maker, version }: Swap): string => `${role}=${version ?? maker}`;

export const makerOf = (swap: Swap, role: Role): Maker =>
  (role === swap.role) === (swap.maker === 'ours') ? 'ours' : 'upstream';

/**
 * Parses `all`, which is the twelve, or swaps such as `kubelet=ours,kubelet=v1.34.4`. Returns
 * undefined for another text.
 */
export function parseSwaps(text: string): readonly Swap[] | undefined {
  if (text === 'all') return swaps;
  const chosen = text
    .split(',')
    .map((name) => recordedSwaps.find((swap) => swapName(swap) === name));
  return chosen.every((swap) => swap !== undefined) ? chosen : undefined;
}

/** The roles that work without containers, too: their clusters may have simulated nodes. */
export const worksSimulated = (role: Role): boolean =>
  role === 'apiserver' || role === 'controller-manager' || role === 'scheduler';

const DNS = /^\[sig-network\] DNS /;
const tests: Readonly<Record<Role, (name: string) => boolean>> = {
  apiserver: (name) => /^\[sig-(?:api-machinery|auth)\]/.test(name),
  'controller-manager': (name) => name.startsWith('[sig-apps]'),
  scheduler: (name) => name.startsWith('[sig-scheduling]'),
  kubelet: (name) => name.startsWith('[sig-node]'),
  proxy: (name) => name.startsWith('[sig-network]') && !DNS.test(name),
  dns: (name) => DNS.test(name),
};

/**
 * Returns whether a test of the suite belongs to the SIG that keeps the swapped role, and not to a
 * newer version of its program.
 */
export function isTestOf({ role, version }: Swap, name: string): boolean {
  const needed = /\[MinimumKubeletVersion:1\.(\d+)\]/.exec(name)?.[1];
  const minor = /^v1\.(\d+)/.exec(version ?? '')?.[1];
  const isTooNew = needed !== undefined && minor !== undefined && Number(needed) > Number(minor);
  return tests[role](name) && !isTooNew;
}
