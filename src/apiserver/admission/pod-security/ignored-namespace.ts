// The warning for labels of Pod Security on a namespace that is exempt from it.

import type { Namespace } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  equivalentPolicies,
  isFullyPrivileged,
  levelLabel,
  levelVersionText,
  MODES,
  type Policy,
  versionLabel,
} from './policy.ts';

/** Returns the warning; undefined if the labels request nothing beyond the defaults. */
export function ignoredNamespaceWarning(
  { metadata: { name, labels = {} } }: Immutable<Namespace>,
  policy: Policy,
  defaults: Policy,
): string | undefined {
  if (isFullyPrivileged(policy) || equivalentPolicies(policy, defaults)) return undefined;
  const requestedModes = MODES.filter(
    (mode) =>
      policy[mode].level !== 'privileged' &&
      (labels[levelLabel(mode)] !== undefined || labels[versionLabel(mode)] !== undefined),
  ).map((mode) => `${mode}=${levelVersionText(policy[mode])}`);
  return (
    `namespace ${JSON.stringify(name)} is exempt from Pod Security, and the policy ` +
    `(${requestedModes.join(', ')}) will be ignored`
  );
}
