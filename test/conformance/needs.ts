// Reads needs.tsv: which tests are conformance tests, and what each needs from a cluster. The set
// of a test determines the runtime that it runs on.

import { readFileSync } from 'node:fs';

export const conformanceSets = ['A', 'C', 'S', 'P', 'K', 'N'] as const;
/** Sets of tests that are not conformance tests. They run only if --set names them. */
export const otherSets = ['default', 'slow', 'policy', 'dra', 'csi', 'kubectl'] as const;
export const testSets = [...conformanceSets, ...otherSets] as const;
export type TestSet = (typeof testSets)[number];

/** The names of the sets in README and on the generated page. */
export const setDescriptions: Readonly<Record<TestSet, string>> = {
  A: 'API server',
  C: 'controllers',
  S: 'scheduler',
  P: 'pod status, on simulated nodes',
  K: 'real containers',
  N: 'network and services',
  default: 'enabled by default beyond conformance',
  slow: 'enabled by default, labelled [Slow]',
  policy: 'network policies',
  dra: 'dynamic resource allocation',
  csi: 'the reference CSI driver',
  kubectl: 'kubectl, by the scripts of test/cmd',
};

/** Returns whether tests of the set use the reference CSI driver. */
export const needsCsiDriver = (set: TestSet): boolean => set === 'csi';

/** Returns whether tests of the set need no real containers. */
export const runsSimulated = (set: TestSet): boolean =>
  set !== 'K' && set !== 'N' && !isOtherSet(set);

export const isOtherSet = (set: TestSet | undefined): boolean =>
  (otherSets as readonly (TestSet | undefined)[]).includes(set);

/** The set of all tests labelled [NodeConformance], each of which is in another set, too. */
export const NODE_SET = 'node';
const NODE_LABEL = '[NodeConformance]';
export const isOfNodes = (name: string): boolean => name.includes(NODE_LABEL);

/** Labels that upstream appends to names; their place in the name differs between versions. */
const labels = / \[(?:Conformance|NodeConformance|Serial|Slow|Disruptive)\]/g;

/**
 * Returns the identity of a test in all versions of Kubernetes: its name without labels. Reports have
 * two spaces where a container of tests has no name.
 */
export const testKey = (name: string): string =>
  name.replaceAll(labels, '').replaceAll(/ {2,}/g, ' ');

/** Returns `sig-apps` for `[sig-apps] Deployment …`. Tests of a driver name no SIG. */
export function sigOf(name: string): string {
  if (name.startsWith('External Storage ')) return 'sig-storage';
  return /^\[(sig-[\w-]+)\]/.exec(name)?.[1] ?? 'no sig';
}

export const isTestSet = (text: string): text is TestSet =>
  (testSets as readonly string[]).includes(text);

/**
 * Real nodes: their number, or a name.
 *
 * - 'workers': pods run only on a node that has joined, whose kubelet is a process of its own, since
 *   the first node has the taint of a control plane. The suite can log in to both nodes.
 * - 'local': the same, and the suite knows the cluster as one of its provider of this name.
 * - 'aws': three nodes, and that provider, which tests ask for that need nothing of a cloud but a
 *   default storage class with block volumes: upstream's suite does nothing else for it. The class is
 *   one of the CSI driver.
 * - 'static': two nodes as kubeadm makes them: the control plane is static pods of the first, the
 *   service proxies are pods of a DaemonSet (examples/static-pods). The suite can log in to both, has
 *   that provider, and there is that class. Nodes have external addresses.
 * - 'kernel': the same as 'workers', and the node that has joined is an emulated computer with
 *   Debian's kernel.
 * - 'dns': two nodes, and the cluster's DNS runs in pods (examples/dns).
 * - 'immediate': one node, and volumes of the CSI driver do not wait for their first pod.
 */
export type Nodes = number | (typeof kinds)[number];

const kinds = ['workers', 'local', 'aws', 'static', 'kernel', 'dns', 'immediate'] as const;

const isKind = (text: string): text is (typeof kinds)[number] =>
  (kinds as readonly string[]).includes(text);

/** The tests of the table, by key. */
export interface Needs extends ReadonlyMap<string, TestSet> {
  /** The nodes of a test that needs others than its set usually has. */
  readonly nodes: ReadonlyMap<string, Nodes>;
}

/** Returns the set of each key. Throws on a line that cannot be read. */
export function parseNeeds(table: string): Needs {
  const sets = new Map<string, TestSet>();
  const nodes = new Map<string, Nodes>();
  for (const [index, line] of table.split('\n').entries()) {
    if (line === '' || line.startsWith('#')) continue;
    const [set = '', key = '', count] = line.split('\t');
    if (
      !isTestSet(set) ||
      key === '' ||
      sets.has(key) ||
      !/^(?:[2-6]|workers|local|aws|static|kernel|dns|immediate)$/.test(count ?? '2')
    )
      throw new Error(`needs.tsv, line ${index + 1}: ${line}`);
    sets.set(key, set);
    if (count !== undefined) nodes.set(key, isKind(count) ? count : Number(count));
  }
  return Object.assign(sets, { nodes });
}

export const readNeeds = (): Needs =>
  parseNeeds(readFileSync(new URL('./needs.tsv', import.meta.url), 'utf8'));
