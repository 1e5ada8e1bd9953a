// Chooses tests by the flags.

import { UserError } from '#cluster/user-error.ts';
import {
  isOfNodes,
  isOtherSet,
  isTestSet,
  NODE_SET,
  testKey,
  testSets,
  type TestSet,
} from './needs.ts';
import type { TestResult } from './results.ts';
import { smokeTests } from './smoke.ts';

export interface Selection {
  readonly focus: RegExp | undefined;
  readonly skip: RegExp | undefined;
  /** Undefined: all conformance tests, with those in no set. */
  readonly sets: ReadonlySet<TestSet | typeof NODE_SET> | undefined;
  /** Only tests of the smoke set. */
  readonly smoke: boolean;
}

interface SelectionFlags {
  readonly focus?: string;
  readonly skip?: string;
  readonly set?: string;
  readonly smoke?: boolean;
}

/** Throws a UserError that names the flag which cannot be read. */
export function parseSelection({ focus, skip, set, smoke }: SelectionFlags): Selection {
  return {
    focus: pattern('--focus', focus),
    skip: pattern('--skip', skip),
    sets: parseSets(set),
    smoke: smoke ?? false,
  };
}

function pattern(flag: string, text: string | undefined): RegExp | undefined {
  if (text === undefined) return undefined;
  try {
    return new RegExp(text);
  } catch (error) {
    throw new UserError(`${flag}: ${(error as Error).message}`, { cause: error });
  }
}

function parseSets(text: string | undefined): Selection['sets'] {
  if (text === undefined) return undefined;
  const sets = new Set<TestSet | typeof NODE_SET>();
  for (const name of text.split(',')) {
    if (name !== NODE_SET && !isTestSet(name))
      throw new UserError(
        `--set: there is no set '${name}'; there are ${[...testSets, NODE_SET].join(', ')}`,
      );
    sets.add(name);
  }
  return sets;
}

/** Returns the keys of tests that have passed, or were skipped. */
export function doneTests(results: readonly TestResult[]): ReadonlySet<string> {
  return new Set(
    results.filter(({ outcome }) => outcome !== 'failed').map(({ name }) => testKey(name)),
  );
}

/** Returns the chosen tests, in the order of `tests`, without those whose keys are in `done`. */
export function chooseTests(
  tests: readonly string[],
  needs: ReadonlyMap<string, TestSet>,
  selection: Selection,
  done?: ReadonlySet<string>,
): string[] {
  const { focus, skip, sets, smoke } = selection;
  return tests.filter((name) => {
    const set = needs.get(testKey(name));
    if (done?.has(testKey(name)) === true) return false;
    if (smoke && !smokeTests.has(testKey(name))) return false;
    if (sets === undefined && isOtherSet(set)) return false;
    if (sets !== undefined && !isInSets(name, set, sets)) return false;
    return (focus?.test(name) ?? true) && !skip?.test(name);
  });
}

const isInSets = (
  name: string,
  set: TestSet | undefined,
  sets: NonNullable<Selection['sets']>,
): boolean => (set !== undefined && sets.has(set)) || (sets.has(NODE_SET) && isOfNodes(name));
