// Which versions of Node the tests run under, and what such a run has printed.

/** The major versions that are tested: those with long-term support since the oldest of package.json. */
export const SUPPORTED_MAJORS: readonly number[] = [20, 22, 24, 26];

export interface FoundNode {
  /** The path of the program. */
  readonly program: string;
  /** As `node --version` prints it: `v24.1.0`. */
  readonly version: string;
}

const majorOf = (version: string): number => Number(/^v(\d+)\./.exec(version)?.[1]);

/**
 * Returns the programs to run, and the supported major versions that none of them has. The version
 * that runs already is not among either.
 */
export function chooseNodes(
  found: readonly FoundNode[],
  running: string,
): { readonly nodes: readonly FoundNode[]; readonly missing: readonly number[] } {
  const nodes = found.filter(({ version }) => majorOf(version) !== majorOf(running));
  const present = new Set([running, ...nodes.map(({ version }) => version)].map(majorOf));
  return { nodes, missing: SUPPORTED_MAJORS.filter((major) => !present.has(major)) };
}

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Returns the counts of the last summary. Undefined: the run ended without one. */
export function countsIn(output: string): Counts | undefined {
  const summaries = [...output.matchAll(/^(\d+) passed, (\d+) failed, (\d+) skipped$/gm)];
  const last = summaries.at(-1);
  if (last === undefined) return undefined;
  const [, passed, failed, skipped] = last.map(Number);
  return { passed: passed!, failed: failed!, skipped: skipped! };
}
