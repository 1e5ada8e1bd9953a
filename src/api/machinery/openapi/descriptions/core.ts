// Descriptions of the smaller kinds of the core group, and of leases.

import type { Descriptions } from './form.ts';

export const core: Descriptions = {
  'core/v1.Namespace': {
    type: 'A space for names: objects in different namespaces may have the same name.',
  },
  'core/v1.NamespaceSpec': {
    type: 'The desired state of a namespace.',
    fields: { finalizers: 'Finalizers that must be removed before the namespace is deleted.' },
  },
  'core/v1.NamespaceStatus': {
    type: 'How a namespace is.',
    fields: {
      phase: 'Active, or Terminating while what is in it is being deleted.',
      conditions: 'Conditions that describe the progress of a deletion.',
    },
  },
  'core/v1.ConfigMap': {
    type: 'Settings that pods read as files or environment variables.',
    fields: {
      immutable: 'Whether the data can never be changed again.',
      data: 'Texts by name.',
      binaryData: 'Bytes by name, in base64.',
    },
  },
  'core/v1.Secret': {
    type: 'Small secrets, such as passwords, tokens and keys, that pods read as files or environment variables.',
    fields: {
      immutable: 'Whether the data can never be changed again.',
      data: 'Bytes by name, in base64.',
      stringData: 'Texts by name, for writing only: the server puts them into data.',
      type: 'Type of the secret. Some types require certain keys in data.',
    },
  },
  'core/v1.ServiceAccount': {
    type: 'An identity for what runs in pods.',
    fields: {
      secrets: 'Secrets that pods of this account may use.',
      imagePullSecrets: 'Secrets to pull images with, for pods that name none themselves.',
      automountServiceAccountToken:
        'Whether pods find a token of the account in their files; a pod may say otherwise.',
    },
  },
  'core/v1.Event': {
    type: 'Something that happened to an object; kept for a while only.',
    fields: {
      involvedObject: 'The object that it happened to.',
      reason: 'Reason in one word, for programs.',
      message: 'Message for users.',
      source: 'The component that reported the event.',
      firstTimestamp: 'When it first happened.',
      lastTimestamp: 'When it last happened.',
      count: 'How often it has happened.',
      type: 'Normal or Warning.',
      eventTime: 'When it was first seen.',
      series: 'How often and when last, if it goes on happening.',
      action: 'Action that the controller took.',
      related: 'Another object that it has to do with.',
      reportingComponent: 'The component that tells of it.',
      reportingInstance: 'Which instance of that component.',
    },
  },
  'core/v1.ObjectReference': {
    type: 'Names an object, or a part of one.',
    fields: {
      kind: 'The kind of the object.',
      namespace: 'The namespace of the object.',
      name: 'The name of the object.',
      uid: 'The uid of the object.',
      apiVersion: 'The API version of the object.',
      resourceVersion: 'The version that is meant.',
      fieldPath: 'The part of the object that is meant, such as spec.containers{name}.',
    },
  },
  'core/v1.LocalObjectReference': {
    type: 'Names an object in the same namespace.',
    fields: { name: 'The name of the object.' },
  },
  'core/v1.ReplicationController': {
    type: 'Keeps a number of pods of the same form running. ReplicaSet is its successor.',
  },
  'core/v1.ReplicationControllerSpec': {
    type: 'How many pods of which form are wanted.',
    fields: {
      replicas: 'How many pods are wanted; 1 if it is left out.',
      minReadySeconds: 'How long a new pod must have been ready to count as available.',
      selector: 'Labels of the pods that count; those of the template if it is left out.',
      template: 'The form of the pods that are created.',
    },
  },
  'core/v1.ReplicationControllerStatus': {
    type: 'How many pods there are.',
    fields: {
      replicas: 'How many pods there are.',
      fullyLabeledReplicas: 'How many of them have all labels of the template.',
      readyReplicas: 'How many of them are ready.',
      availableReplicas: 'How many of them have been ready for long enough.',
      conditions: 'Conditions that keep the replicas from being created.',
    },
  },
  'core/v1.Binding': { type: 'Assigns a pod to a node.', fields: { target: 'The node.' } },
  'coordination/v1.Lease': {
    type: 'A claim that has to be renewed: held by one at a time, for leader election and heartbeats.',
  },
  'coordination/v1.LeaseSpec': {
    type: 'The holder of the lease, and since when it holds it.',
    fields: {
      holderIdentity: 'Identity of the holder.',
      leaseDurationSeconds: 'How long after the last renewal others must wait before they take it.',
      acquireTime: 'When the holder took it.',
      renewTime: 'When the holder last renewed it.',
      leaseTransitions: 'How often it has gone from one holder to another.',
      strategy: 'How the next holder is chosen, where that is coordinated.',
      preferredHolder: 'Identity of the preferred next holder.',
    },
  },
};
