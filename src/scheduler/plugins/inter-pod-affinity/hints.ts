// Events that may help a pod that InterPodAffinity has rejected.

import {
  affinityTermsOf,
  allTermsMatch,
  hasAffinityTerms,
  type NamespaceLabels,
  termMatches,
} from '#scheduler/framework/affinity-terms.ts';
import {
  ActionType,
  clusterEvent,
  type ClusterEventWithHint,
  type QueueingHint,
  UPDATE,
} from '#scheduler/framework/events.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { Namespace } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import { concernsPod, nodesOf, podsOf } from '../hints.ts';
import { topologyValue } from '../topology/labels.ts';

/**
 * Returns the events. `isAvoided`: reports whether the anti-affinity of a pod on some node matches
 * the pod.
 */
export function affinityEvents(
  labelsOf: NamespaceLabels,
  isAvoided: (pod: Pod) => boolean,
): readonly ClusterEventWithHint[] {
  const podActions = ActionType.Add | ActionType.Delete | ActionType.UpdatePodLabel;
  return [
    {
      event: clusterEvent('AssignedPod', podActions, 'AssignedPod'),
      hint: afterPodChange(labelsOf),
    },
    {
      event: clusterEvent('UnscheduledPod', ActionType.UpdatePodLabel, 'PodLabel'),
      hint: concernsPod,
    },
    {
      event: clusterEvent('Node', ActionType.Add | ActionType.UpdateNodeLabel, 'Node'),
      hint: afterNodeChange,
    },
    {
      event: clusterEvent('Node', ActionType.Delete, 'NodeDelete'),
      hint: afterNodeDeletion(labelsOf, isAvoided),
    },
    {
      event: clusterEvent('Namespace', ActionType.Add | UPDATE, 'Namespace'),
      hint: afterNamespaceChange,
    },
  ];
}

function afterPodChange(labelsOf: NamespaceLabels): QueueingHint {
  return (pod, objects) => {
    const { before, after } = podsOf(objects);
    const { requiredAffinity, requiredAntiAffinity } = affinityTermsOf(pod);
    const wanted = after !== undefined && allTermsMatch(requiredAffinity, after, labelsOf);
    const wantedBefore = before !== undefined && allTermsMatch(requiredAffinity, before, labelsOf);
    if (wanted !== wantedBefore) {
      // The other pod is now where this pod wants to be; or it is gone and this pod may be the
      // first of its kind.
      if (wanted || allTermsMatch(requiredAffinity, pod, labelsOf)) return true;
    }
    if (before === undefined) return false;
    const avoided = requiredAntiAffinity.some(
      (term) =>
        termMatches(term, before, labelsOf) &&
        (after === undefined || !termMatches(term, after, labelsOf)),
    );
    if (avoided) return true;
    // The other pod's terms are gone, or match fewer pods because its labels have changed.
    const avoiding = (other: Pod): number =>
      affinityTermsOf(other).requiredAntiAffinity.filter((term) => termMatches(term, pod, labelsOf))
        .length;
    return avoiding(before) > (after === undefined ? 0 : avoiding(after));
  };
}

/**
 * Any label may be a topology of another pod's anti-affinity; but the node must have the labels
 * that the pod's own affinity needs.
 */
const afterNodeChange: QueueingHint = (pod, objects) => {
  const { after } = nodesOf(objects);
  return affinityTermsOf(pod).requiredAffinity.every(
    (term) => topologyValue(after, term.topologyKey) !== undefined,
  );
};

/**
 * Returns a hint for deleted nodes: pods on them no longer count, so that anti-affinity may be met,
 * and the pod may be the first of its kind.
 */
function afterNodeDeletion(
  labelsOf: NamespaceLabels,
  isAvoided: (pod: Pod) => boolean,
): QueueingHint {
  return (pod) => {
    const { requiredAffinity, requiredAntiAffinity } = affinityTermsOf(pod);
    return (
      requiredAntiAffinity.length > 0 ||
      allTermsMatch(requiredAffinity, pod, labelsOf) ||
      isAvoided(pod)
    );
  };
}

const afterNamespaceChange: QueueingHint = (pod, { before, after }) => {
  const [old, now] = [
    before as Immutable<Namespace> | undefined,
    after as Immutable<Namespace> | undefined,
  ];
  if (old !== undefined && semanticEqual(old.metadata.labels, now?.metadata.labels)) return false;
  // The pod's own namespace: terms of other pods may select it differently now.
  if (now?.metadata.name === pod.metadata.namespace) return true;
  if (!hasAffinityTerms(pod)) return false;
  const { requiredAffinity, requiredAntiAffinity } = affinityTermsOf(pod);
  return [...requiredAffinity, ...requiredAntiAffinity].some(
    (term) => term.namespaceSelector !== undefined,
  );
};
