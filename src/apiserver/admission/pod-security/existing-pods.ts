// Warnings about a namespace's existing pods when a stricter level is enforced there. Such pods
// keep running, but would not be admitted again.

import type { Violation } from './control.ts';
import { reasonsText } from './evaluation.ts';
import { type LevelVersion, levelVersionText } from './policy.ts';

/** The maximum number of pods to check. */
export const MAX_PODS = 3000;
export const MAX_MS = 1000;

interface ExistingPod {
  readonly metadata: {
    readonly name: string;
    readonly ownerReferences?: readonly { readonly controller?: boolean; readonly uid: string }[];
  };
}

export interface ExistingPodsQuestion<Pod extends ExistingPod> {
  readonly namespace: string;
  readonly pods: readonly Pod[];
  readonly enforce: LevelVersion;
  readonly violationsOf: (pod: Pod) => readonly Violation[];
  /** Reports, after each pod, whether the check has taken too long. */
  readonly isLate: () => boolean;
}

/** Returns the warnings. Pods with the same violations share one. */
export function existingPodsWarnings<Pod extends ExistingPod>(
  question: ExistingPodsQuestion<Pod>,
): readonly string[] {
  const { namespace, pods, enforce, violationsOf, isLate } = question;
  const namesByReasons = new Map<string, string[]>();
  let checked = 0;
  for (const pod of oneOfEachControllerFirst(pods).slice(0, MAX_PODS)) {
    const violations = violationsOf(pod);
    if (violations.length > 0) {
      const reasons = reasonsText(violations);
      const names = namesByReasons.get(reasons);
      if (names === undefined) namesByReasons.set(reasons, [pod.metadata.name]);
      else names.push(pod.metadata.name);
    }
    checked++;
    if (isLate()) break;
  }
  const warnings: string[] = [];
  if (checked < pods.length) {
    warnings.push(
      `new PodSecurity enforce level only checked against the first ${checked} of ${pods.length} existing pods`,
    );
  }
  if (namesByReasons.size > 0) {
    warnings.push(
      `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ` +
        JSON.stringify(levelVersionText(enforce)),
    );
  }
  const byPod = Array.from(
    namesByReasons,
    ([reasons, names]) => `${withNumberOfOthers(names)}: ${reasons}`,
  );
  return [...warnings, ...byPod.toSorted()];
}

/**
 * Sorts the pods so that one of each controller comes first. The pods of one controller are alike,
 * so these are checked first if not all can be checked.
 */
function oneOfEachControllerFirst<Pod extends ExistingPod>(pods: readonly Pod[]): readonly Pod[] {
  const seen = new Set<string>();
  const first: Pod[] = [];
  const others: Pod[] = [];
  for (const pod of pods) {
    const uid = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
    (uid === undefined || !seen.has(uid) ? first : others).push(pod);
    if (uid !== undefined) seen.add(uid);
  }
  return [...first, ...others];
}

function withNumberOfOthers(names: readonly string[]): string {
  const first = names.reduce((least, name) => (name < least ? name : least));
  const others = names.length - 1;
  return others === 0 ? first : `${first} (and ${others} other ${others === 1 ? 'pod' : 'pods'})`;
}
