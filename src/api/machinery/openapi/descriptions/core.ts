// Descriptions of the smaller kinds of the core group, and of leases.

import type { Descriptions } from './form.ts';

export const core: Descriptions = {
  'core/v1.Namespace': {
    type: 'A scope for names: objects in different namespaces may have the same name.',
  },
  'core/v1.NamespaceSpec': {
    type: 'The desired state of a namespace.',
    fields: { finalizers: 'Finalizers that must be removed before the namespace is deleted.' },
  },
  'core/v1.NamespaceStatus': {
    type: 'The observed state of a namespace.',
    fields: {
      phase: 'Active, or Terminating while its content is being deleted.',
      conditions: 'Conditions that describe the progress of a deletion.',
    },
  },
  'core/v1.ConfigMap': {
    type: 'Configuration that pods read as files or environment variables.',
    fields: {
      immutable: 'Whether the data is immutable. This cannot be reverted.',
      data: 'Text values by key.',
      binaryData: 'Binary values by key, in base64.',
    },
  },
  'core/v1.Secret': {
    type:
      'Confidential data, such as passwords, tokens and keys, that pods read as files or ' +
      'environment variables.',
    fields: {
      immutable: 'Whether the data is immutable. This cannot be reverted.',
      data: 'Values by key, in base64.',
      stringData: 'Text values by key, for writes only: the server adds them to data.',
      type: 'Type of the secret. Some types require certain keys in data.',
    },
  },
  'core/v1.ServiceAccount': {
    type: 'An identity for processes in pods.',
    fields: {
      secrets: 'Secrets that pods of this account may use.',
      imagePullSecrets: 'Secrets for pulling images, for pods without their own.',
      automountServiceAccountToken:
        'Whether a token of the account is mounted into pods. A pod can override it.',
    },
  },
  'core/v1.Event': {
    type: 'A report of an event that concerns an object. It is kept for a limited time.',
    fields: {
      involvedObject: 'The object of the event.',
      reason: 'Reason in one word, for programs.',
      message: 'Message for users.',
      source: 'The component that reported the event.',
      firstTimestamp: 'When the event first occurred.',
      lastTimestamp: 'When the event last occurred.',
      count: 'The number of occurrences.',
      type: 'Normal or Warning.',
      eventTime: 'When the event was first observed.',
      series: 'The number and the last time of repeated occurrences.',
      action: 'Action that the controller took.',
      related: 'A related object.',
      reportingComponent: 'The component that reports the event.',
      reportingInstance: 'The instance of the component.',
    },
  },
  'core/v1.ObjectReference': {
    type: 'A reference to an object, or to a part of it.',
    fields: {
      kind: 'The kind of the object.',
      namespace: 'The namespace of the object.',
      name: 'The name of the object.',
      uid: 'The UID of the object.',
      apiVersion: 'The API version of the object.',
      resourceVersion: 'The resource version of the object.',
      fieldPath: 'The part of the object, such as spec.containers{name}.',
    },
  },
  'core/v1.LocalObjectReference': {
    type: 'A reference to an object in the same namespace.',
    fields: { name: 'The name of the object.' },
  },
  'core/v1.ReplicationController': {
    type: 'Keeps a number of identical pods running. ReplicaSet is its successor.',
  },
  'core/v1.ReplicationControllerSpec': {
    type: 'The desired state of a ReplicationController.',
    fields: {
      replicas: 'The desired number of pods. Default: 1.',
      minReadySeconds:
        'How many seconds a new pod must be ready to count as available. Default: 0.',
      selector: 'Labels of the pods. Default: those of the template.',
      template: 'The template of the pods.',
    },
  },
  'core/v1.ReplicationControllerStatus': {
    type: 'The observed state of a ReplicationController.',
    fields: {
      replicas: 'The number of pods.',
      fullyLabeledReplicas: 'The number of pods with all labels of the template.',
      readyReplicas: 'The number of ready pods.',
      availableReplicas: 'The number of pods that have been ready for minReadySeconds.',
      conditions: 'Conditions that keep the replicas from being created.',
    },
  },
  'core/v1.Binding': { type: 'Assigns a pod to a node.', fields: { target: 'The node.' } },
  'coordination/v1.Lease': {
    type: 'A lease that its single holder must renew: for leader election and heartbeats.',
  },
  'coordination/v1.LeaseSpec': {
    type: 'The holder of the lease and its times.',
    fields: {
      holderIdentity: 'Identity of the holder.',
      leaseDurationSeconds:
        'The time after the last renewal after which other candidates may acquire the lease.',
      acquireTime: 'When the holder acquired the lease.',
      renewTime: 'When the holder last renewed the lease.',
      leaseTransitions: 'The number of changes of the holder.',
      strategy: 'The strategy of coordinated leader election.',
      preferredHolder: 'Identity of the preferred next holder.',
    },
  },
};
