// Which changes may help a pod that InterPodAffinity has refused.

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

/** `isAvoided`: whether a pod on some node does not want the pod near it. */
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
      // It has come to where the pod wants to be; or, gone, it no longer keeps the pod from being
      // the first of its kind.
      if (wanted || allTermsMatch(requiredAffinity, pod, labelsOf)) return true;
    }
    if (before === undefined) return false;
    const avoided = requiredAntiAffinity.some(
      (term) =>
        termMatches(term, before, labelsOf) &&
        (after === undefined || !termMatches(term, after, labelsOf)),
    );
    if (avoided) return true;
    // Its own terms go with it; and they mean fewer pods if it has got a label that is one of their
    // keys.
    const avoiding = (other: Pod): number =>
      affinityTermsOf(other).requiredAntiAffinity.filter((term) => termMatches(term, pod, labelsOf))
        .length;
    return avoiding(before) > (after === undefined ? 0 : avoiding(after));
  };
}

/**
 * Any label may be a topology of another pod's anti-affinity; but the pod's own affinity has to
 * have what it needs.
 */
const afterNodeChange: QueueingHint = (pod, objects) => {
  const { after } = nodesOf(objects);
  return affinityTermsOf(pod).requiredAffinity.every(
    (term) => topologyValue(after, term.topologyKey) !== undefined,
  );
};

/**
 * The pods on it count no more: those that must not be near, or do not want to be; and the pod may
 * be the first of its kind now.
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
  // Its own namespace: what others select by may have changed.
  if (now?.metadata.name === pod.metadata.namespace) return true;
  if (!hasAffinityTerms(pod)) return false;
  const { requiredAffinity, requiredAntiAffinity } = affinityTermsOf(pod);
  return [...requiredAffinity, ...requiredAntiAffinity].some(
    (term) => term.namespaceSelector !== undefined,
  );
};
