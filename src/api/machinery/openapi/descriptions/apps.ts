// Descriptions of apps/v1.

import type { Descriptions } from './form.ts';

export const apps: Descriptions = {
  'apps/v1.ReplicaSet': { type: 'Keeps a number of identical pods running.' },
  'apps/v1.ReplicaSetSpec': {
    type: 'The desired state of a ReplicaSet.',
    fields: {
      replicas: 'The desired number of pods. Default: 1.',
      minReadySeconds:
        'How many seconds a new pod must be ready to count as available. Default: 0.',
      selector: 'Selects the pods. It must match the labels of the template and cannot be changed.',
      template: 'The template of the pods.',
    },
  },
  'apps/v1.ReplicaSetStatus': {
    type: 'The observed state of a ReplicaSet.',
    fields: {
      replicas: 'The number of pods.',
      fullyLabeledReplicas: 'The number of pods with all labels of the template.',
      readyReplicas: 'The number of ready pods.',
      availableReplicas: 'The number of pods that have been ready for minReadySeconds.',
      terminatingReplicas: 'The number of pods that are being deleted.',
      conditions: 'Conditions that keep the replicas from being created.',
    },
  },
  'apps/v1.ReplicaSetCondition': {
    type: 'A condition of a ReplicaSet.',
    fields: {
      type: 'The type of the condition.',
      status: 'True, False or Unknown.',
      reason: 'The reason, as one word for programs.',
      message: 'The reason, for people.',
    },
  },
  'apps/v1.Deployment': {
    type: 'Keeps identical pods running, and replaces them step by step when the template changes.',
  },
  'apps/v1.StatefulSet': {
    type: 'Keeps pods running, each with a stable name and its own storage.',
  },
  'apps/v1.DaemonSet': {
    type: 'Keeps one pod running on every node, or on selected nodes.',
  },
};
