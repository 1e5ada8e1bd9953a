// The rules for pods.

import {
  withoutDisabledPodFields,
  withoutDisabledStatusFields,
} from '#api/groups/core/v1/disabled-pod-fields.ts';
import { warningsForIP } from '#api/groups/core/v1/ip-warnings.ts';
import { podQosClass } from '#api/groups/core/v1/qos.ts';
import {
  validatePod,
  validatePodStatusUpdate,
  validatePodUpdate,
} from '#api/groups/core/v1/validation/index.ts';
import { podWarnings } from '#api/groups/core/v1/warnings.ts';
import * as field from '#machinery/validation/field.ts';
import { isDNS1123Label } from '#machinery/validation/validation.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { withAppArmorFields } from './app-armor.ts';
import { withCondition, withObservedGenerations } from './conditions.ts';
import { withLabelKeys } from './label-keys.ts';
import type { Pod } from './pod.ts';

const DEFAULT_GRACE_SECONDS = 30;
const HOST_NAME =
  "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; " +
  'a DNS label is recommended';
const GATED = {
  type: 'PodScheduled',
  status: 'False',
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
} as const;

/** Returns the spec. A negative grace period becomes the shortest one, a second. */
const withGrace = (spec: Pod['spec']): Pod['spec'] =>
  (spec.terminationGracePeriodSeconds ?? 0) < 0
    ? { ...spec, terminationGracePeriodSeconds: 1 }
    : spec;

export const podStrategy: ResourceStrategy<Pod> = {
  generation: true,
  checksNameOnUpdate: true,
  returnDeletedObject: true,

  prepareForCreate(pod, { now, request }) {
    const status = { phase: 'Pending', qosClass: podQosClass(pod.spec) } as const;
    const enabled = withLabelKeys({
      ...pod,
      spec: withGrace(withoutDisabledPodFields(pod.spec)),
      status,
    });
    const prepared = withAppArmorFields(enabled, (text) => request.warnings.push(text));
    if ((pod.spec.schedulingGates ?? []).length === 0) return prepared;
    return { ...prepared, status: { ...status, conditions: withCondition([], GATED, now) } };
  },
  validate: (pod) => validatePod(pod),
  warningsOnCreate(pod) {
    const problems = isDNS1123Label(pod.metadata.name);
    return [
      ...(problems.length > 0 ? [`${HOST_NAME}: [${problems.join(' ')}]`] : []),
      ...podWarnings(pod),
    ];
  },

  prepareForUpdate: (pod, old) => ({
    ...pod,
    spec: withGrace(withoutDisabledPodFields(pod.spec, old.spec)),
    status: old.status,
  }),
  validateUpdate: (pod, old) => validatePodUpdate(pod, old),

  gracePeriodSeconds(pod, requested) {
    const { phase } = pod.status;
    // The pod is not running, so it needs no grace period.
    if (pod.spec.nodeName === undefined || phase === 'Succeeded' || phase === 'Failed') return 0;
    const seconds = requested ?? pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
    return seconds < 0 ? 1 : seconds;
  },
};

export const podStatusStrategy: SubresourceStrategy<Pod> = {
  resetFields: [['spec'], ['metadata', 'deletionTimestamp'], ['metadata', 'ownerReferences']],
  prepareForUpdate(pod, old) {
    const { ownerReferences: _, deletionTimestamp: _2, ...metadata } = pod.metadata;
    const { ownerReferences, deletionTimestamp } = old.metadata;
    const { observedGeneration = 0, ...status } = withoutDisabledStatusFields(
      pod.status,
      old.status,
    );
    const observed = observedGeneration === 0 ? old.status.observedGeneration : observedGeneration;
    const conditions = withObservedGenerations(status.conditions, old.status.conditions);
    return {
      ...pod,
      metadata: {
        ...metadata,
        ...(ownerReferences !== undefined && { ownerReferences }),
        ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      },
      spec: old.spec,
      status: {
        ...status,
        ...(observed !== undefined && { observedGeneration: observed }),
        ...(conditions !== undefined && { conditions }),
        qosClass: status.qosClass ?? old.status.qosClass ?? podQosClass(old.spec),
      },
    };
  },
  validateUpdate: (pod, old) => validatePodStatusUpdate(pod, old),
  warningsOnUpdate: ({ status }) =>
    (['podIPs', 'hostIPs'] as const).flatMap((list) =>
      (status[list] ?? []).flatMap(({ ip }, index) =>
        warningsForIP(field.path('status', list).index(index).child('ip'), ip),
      ),
    ),
};
