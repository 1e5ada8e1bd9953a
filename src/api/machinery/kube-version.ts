// The order of API versions, as documented at kubernetes.io: "Versions in
// CustomResourceDefinitions", version priority.

const KUBE_VERSION = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;
const STABILITY = ['alpha', 'beta', ''];

interface KubeVersion {
  readonly major: number;
  /** The index in STABILITY. */
  readonly stability: number;
  readonly minor: number;
}

/**
 * Compares two versions for a sort by preference: stable before beta before alpha, and within each
 * the higher numbers first. Versions of another form come last, in alphabetical order.
 */
export function compareKubeVersions(a: string, b: string): number {
  const [first, second] = [parse(a), parse(b)];
  if (first === undefined && second === undefined) return a < b ? -1 : a > b ? 1 : 0;
  if (first === undefined) return 1;
  if (second === undefined) return -1;
  return (
    second.stability - first.stability || second.major - first.major || second.minor - first.minor
  );
}

function parse(version: string): KubeVersion | undefined {
  const [, major, stability = '', minor = '0'] = KUBE_VERSION.exec(version) ?? [];
  if (major === undefined) return undefined;
  return { major: Number(major), stability: STABILITY.indexOf(stability), minor: Number(minor) };
}
