// Pods.

import type * as core from '../../../../api/core/v1/index.ts';
import { podQosClass } from '../../../../api/core/v1/qos.ts';
import { validatePod, validatePodStatusUpdate, validatePodUpdate } from '../../../../api/core/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import type { ResourceStrategy, SubresourceStrategy } from '../../strategy.ts';
import { formatTime } from '../../time.ts';

export type Pod = Immutable<core.Pod>;

const DEFAULT_GRACE_SECONDS = 30;

export const podStrategy: ResourceStrategy<Pod> = {
  generation: true,
  returnDeletedObject: true,

  prepareForCreate(pod, { now }) {
    const status = { phase: 'Pending', qosClass: podQosClass(pod.spec) } as const;
    const gated = (pod.spec.schedulingGates ?? []).length > 0;
    if (!gated) return { ...pod, status };
    const condition = {
      type: 'PodScheduled',
      status: 'False',
      lastProbeTime: null,
      lastTransitionTime: formatTime(now),
      reason: 'SchedulingGated',
      message: 'Scheduling is blocked due to non-empty scheduling gates',
    } as const;
    return { ...pod, status: { ...status, conditions: [condition] } };
  },
  validate: (pod) => validatePod(pod),

  prepareForUpdate: (pod, old) => ({ ...pod, status: old.status }),
  validateUpdate: (pod, old) => validatePodUpdate(pod, old),

  gracePeriodSeconds(pod, requested) {
    const { phase } = pod.status;
    // Nothing runs that would need the time.
    if (pod.spec.nodeName === undefined || phase === 'Succeeded' || phase === 'Failed') return 0;
    const seconds = requested ?? pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
    return seconds < 0 ? 1 : seconds;
  },

  selectableFieldNames: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  selectableFields: ({ spec, status }) => ({
    'spec.nodeName': spec.nodeName ?? '',
    'spec.restartPolicy': spec.restartPolicy ?? '',
    'spec.schedulerName': spec.schedulerName ?? '',
    'spec.serviceAccountName': spec.serviceAccountName ?? '',
    'spec.hostNetwork': String(spec.hostNetwork ?? false),
    'status.phase': status.phase ?? '',
    'status.podIP': status.podIPs?.[0]?.ip ?? status.podIP ?? '',
    'status.nominatedNodeName': status.nominatedNodeName ?? '',
  }),
};

export const podStatusStrategy: SubresourceStrategy<Pod> = {
  resetFields: [['spec'], ['metadata', 'deletionTimestamp'], ['metadata', 'ownerReferences']],
  prepareForUpdate(pod, old) {
    const { ownerReferences: _, ...metadata } = pod.metadata;
    const { ownerReferences } = old.metadata;
    return {
      ...pod,
      metadata: ownerReferences === undefined ? metadata : { ...metadata, ownerReferences },
      spec: old.spec,
      status: { ...pod.status, qosClass: pod.status.qosClass ?? old.status.qosClass ?? podQosClass(old.spec) },
    };
  },
  validateUpdate: (pod, old) => validatePodStatusUpdate(pod, old),
};
