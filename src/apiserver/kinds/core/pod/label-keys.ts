// matchLabelKeys: keys of labels whose values come from the pod itself. When the pod is created,
// its selectors are narrowed to these values, so that the code that evaluates the selectors need
// not support the keys.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import type { Pod } from './pod.ts';

type Selector = Immutable<core.PodAffinityTerm>['labelSelector'];
type Labels = Readonly<Record<string, string>>;

interface Keyed {
  readonly labelSelector?: Selector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

export function withLabelKeys(pod: Pod): Pod {
  const { spec } = pod;
  const labels = pod.metadata.labels ?? {};
  const { affinity, topologySpreadConstraints: constraints } = spec;
  if (
    affinity?.podAffinity === undefined &&
    affinity?.podAntiAffinity === undefined &&
    constraints === undefined
  )
    return pod;
  return {
    ...pod,
    spec: {
      ...spec,
      ...(affinity !== undefined && {
        affinity: {
          ...affinity,
          ...(affinity.podAffinity !== undefined && {
            podAffinity: terms(affinity.podAffinity, labels),
          }),
          ...(affinity.podAntiAffinity !== undefined && {
            podAntiAffinity: terms(affinity.podAntiAffinity, labels),
          }),
        },
      }),
      ...(constraints !== undefined && {
        topologySpreadConstraints: constraints.map((constraint) => narrowed(constraint, labels)),
      }),
    },
  };
}

function terms(affinity: Immutable<core.PodAffinity>, labels: Labels): Immutable<core.PodAffinity> {
  const {
    requiredDuringSchedulingIgnoredDuringExecution: required,
    preferredDuringSchedulingIgnoredDuringExecution: preferred,
  } = affinity;
  return {
    ...(required !== undefined && {
      requiredDuringSchedulingIgnoredDuringExecution: required.map((term) =>
        narrowed(term, labels),
      ),
    }),
    ...(preferred !== undefined && {
      preferredDuringSchedulingIgnoredDuringExecution: preferred.map((choice) => ({
        ...choice,
        podAffinityTerm: narrowed(choice.podAffinityTerm, labels),
      })),
    }),
  };
}

/**
 * Returns the term with a narrowed selector. A term without a selector selects nothing, whatever
 * its keys.
 */
function narrowed<T extends Keyed>(term: T, labels: Labels): T {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = term;
  if (labelSelector === undefined) return term;
  const requirement = (key: string, operator: 'In' | 'NotIn') => {
    const value = ownValue(labels, key);
    return value === undefined ? [] : [{ key, operator, values: [value] }];
  };
  const added = [
    ...matchLabelKeys.flatMap((key) => requirement(key, 'In')),
    ...mismatchLabelKeys.flatMap((key) => requirement(key, 'NotIn')),
  ];
  if (added.length === 0) return term;
  const matchExpressions = [...(labelSelector.matchExpressions ?? []), ...added];
  return { ...term, labelSelector: { ...labelSelector, matchExpressions } };
}
