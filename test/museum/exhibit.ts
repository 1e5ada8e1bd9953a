// An exhibit: a bug of a real controller in a small one of ours, with the repair, and the test under which
// exploration finds it.

import type { ExploreOptions } from '#cluster/embedded/explore.ts';
import type { ExploreTest } from '#cluster/embedded/explore-context.ts';
import type { ControllerDefinition } from '#controllers/operator/index.ts';

interface Label {
  /** The bug, in one sentence. */
  readonly bug: string;
  /** Where such a bug was reported, or the pattern is described. */
  readonly sources: readonly string[];
  /** Matches the message with which the bug is found. */
  readonly found: RegExp;
}

/** A bug that `explore` finds. */
export interface ExploredExhibit extends Label, Omit<ExploreOptions, 'reconciler'> {
  readonly reconciler: (fixed: boolean) => ControllerDefinition | readonly ControllerDefinition[];
  readonly test: ExploreTest;
}

/** A bug that a scenario with faults shows: it rejects with the bug, and resolves with the repair. */
export interface ScenarioExhibit extends Label {
  readonly scenario: (fixed: boolean) => Promise<void>;
}

export type Exhibit = ExploredExhibit | ScenarioExhibit;

const K8S = 'https://github.com/kubernetes/kubernetes';

/** Returns the address of an issue of kubernetes/kubernetes. */
export const issue = (number: number): string => `${K8S}/issues/${number}`;

/** The paper that describes the patterns «intermediate», «stale» and «unobserved» state. */
export const SIEVE = 'https://github.com/sieve-project/sieve/blob/main/docs/bugs.md';
