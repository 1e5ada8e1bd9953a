// Descriptions of apps/v1.

import type { Descriptions } from './form.ts';

export const apps: Descriptions = {
  'apps/v1.ReplicaSet': { type: 'Keeps a number of pods of the same form running.' },
  'apps/v1.ReplicaSetSpec': {
    type: 'How many pods of which form are wanted.',
    fields: {
      replicas: 'How many pods are wanted; 1 if it is left out.',
      minReadySeconds: 'How long a new pod must have been ready to count as available.',
      selector: 'Which pods count; it must match the labels of the template and never changes.',
      template: 'The form of the pods that are created.',
    },
  },
  'apps/v1.ReplicaSetStatus': {
    type: 'How many pods there are.',
    fields: {
      replicas: 'How many pods there are.',
      fullyLabeledReplicas: 'How many of them have all labels of the template.',
      readyReplicas: 'How many of them are ready.',
      availableReplicas: 'How many of them have been ready for long enough.',
      terminatingReplicas: 'How many pods are being deleted and not gone yet.',
      conditions: 'Conditions that keep the replicas from being created.',
    },
  },
  'apps/v1.ReplicaSetCondition': {
    type: 'One aspect of the state of a ReplicaSet.',
    fields: {
      type: 'The name of the aspect.',
      status: 'Whether it holds: True, False or Unknown.',
      reason: 'Why, as one word for programs.',
      message: 'Why, for people.',
    },
  },
  'apps/v1.Deployment': {
    type: 'Keeps pods of the same form running, and replaces them step by step when the form changes.',
  },
  'apps/v1.StatefulSet': {
    type: 'Keeps pods running that each have a name and storage of their own.',
  },
  'apps/v1.DaemonSet': {
    type: 'Keeps one pod running on every node, or on those that it selects.',
  },
};
