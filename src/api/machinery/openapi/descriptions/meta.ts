// Descriptions of the types that all kinds share.

import type { Descriptions } from './form.ts';

export const meta: Descriptions = {
  'meta/v1.ObjectMeta': {
    type: 'Metadata of every object: identity, labels, annotations, owners, and the state of its deletion.',
    fields: {
      name: 'The name of the object, unique for its kind and namespace. It cannot be changed.',
      generateName: 'A prefix to which the server adds a random suffix if there is no name.',
      namespace: 'The namespace of the object. Cluster-scoped objects have none.',
      selfLink: 'No longer used.',
      uid: 'Set by the server: an identifier that differs even from former objects of the same name.',
      resourceVersion:
        'Set by the server at every change. An update with an old version is rejected.',
      generation: 'The number of changes of the desired state.',
      // Upstream's tests of explain look for these words, for those of apiVersion, and for those of
      // metadata (index.ts).
      creationTimestamp: 'CreationTimestamp is a timestamp: when the server created the object.',
      deletionTimestamp:
        'When the object will be deleted. Set by the server when its deletion is requested.',
      deletionGracePeriodSeconds: 'The grace period, in seconds from the request for the deletion.',
      labels: 'Keys and values by which objects are selected.',
      annotations: 'Keys and values for tools and people. Objects cannot be selected by them.',
      ownerReferences: 'The owners of the object. It is deleted when all of them are deleted.',
      finalizers:
        'Finalizers: the object is deleted when the list is empty. Each controller removes its own entry.',
      managedFields: 'The owners of fields, as server-side apply records them.',
    },
  },
  'meta/v1.ListMeta': {
    type:
      'Metadata of a list: the version at which it was read, and the beginning of the next ' +
      'page.',
    fields: {
      shardInfo: 'The part of the collection in the list.',
      selfLink: 'No longer used.',
      resourceVersion: 'The version at which the list was read. A watch can begin there.',
      continue: 'The token for the next page. Absent: there is no next page.',
      remainingItemCount: 'The number of items after this page, if known.',
    },
  },
  'meta/v1.OwnerReference': {
    type: 'An owner of the object, in the same namespace or cluster-scoped.',
    fields: {
      name: 'The name of the owner.',
      uid: 'The UID of the owner.',
      controller: 'Whether the owner manages the object. At most one owner does.',
      blockOwnerDeletion:
        'Whether the foreground deletion of the owner waits for the deletion of this object.',
    },
  },
  'meta/v1.LabelSelector': {
    type:
      'Selects objects by their labels. Every requirement must be met. An empty selector ' +
      'matches all.',
    fields: {
      matchLabels: 'Labels that the objects must have, with these values.',
      matchExpressions: 'Requirements on labels that go beyond equality.',
    },
  },
  'meta/v1.LabelSelectorRequirement': {
    type: 'One requirement on a label.',
    fields: {
      key: 'The key of the label.',
      operator: 'How the label is compared: In, NotIn, Exists or DoesNotExist.',
      values: 'Values to compare with. Empty for Exists and DoesNotExist.',
    },
  },
  'meta/v1.ManagedFieldsEntry': {
    type: 'The fields that one manager owns.',
    fields: {
      manager: 'The name of the manager, a tool or component.',
      operation: 'How the fields were written: Apply or Update.',
      apiVersion: 'The API version of the fields.',
      time: 'When the entry last changed.',
      fieldsType: 'The form of the set of fields; FieldsV1 is the only one.',
      fieldsV1: 'The set of fields.',
      subresource: 'The subresource through which the fields were written, if any.',
    },
  },
  'meta/v1.Condition': {
    type: 'A condition of an object.',
    fields: {
      type: 'The type of the condition.',
      status: 'True, False or Unknown.',
      reason: 'The reason, as one word for programs.',
      message: 'The reason, for people.',
    },
  },
  'meta/v1.Status': {
    type: 'The result of a request without an object.',
    fields: {
      metadata: 'Metadata of the list.',
      status: 'Success or Failure.',
      message: 'Message for users.',
      reason: 'Reason in one word, for programs.',
      details: 'Details of the reason.',
      code: 'The HTTP status code.',
    },
  },
  'meta/v1.StatusDetails': {
    type: 'Details of a failure.',
    fields: {
      name: 'The name of the object.',
      group: 'The API group of the object.',
      kind: 'The kind or resource of the object.',
      uid: 'The UID of the object.',
      causes: 'Every single error.',
      retryAfterSeconds: 'The number of seconds before a retry.',
    },
  },
  'meta/v1.StatusCause': {
    type: 'A single error.',
    fields: {
      reason: 'Reason in one word, for programs.',
      message: 'Message for users.',
      field: 'The invalid field, such as spec.containers[0].image.',
    },
  },
  'meta/v1.DeleteOptions': {
    type: 'Options of a deletion.',
    fields: {
      gracePeriodSeconds: 'The grace period in seconds. 0 deletes the object immediately.',
      preconditions: 'Preconditions. The deletion is rejected if one does not hold.',
      orphanDependents: 'No longer used: see propagationPolicy.',
      propagationPolicy: 'Treatment of dependent objects: Orphan, Background or Foreground.',
      dryRun: 'All, to do everything but store the result.',
      ignoreStoreReadErrorWithClusterBreakingPotential:
        'Whether to delete an object that cannot be read any more, even with finalizers.',
    },
  },
  'meta/v1.Preconditions': {
    type: 'Preconditions of a deletion.',
    fields: {
      uid: 'The UID that the object must have.',
      resourceVersion: 'The resource version that the object must have.',
    },
  },
  'meta/v1.WatchEvent': {
    type: 'A change, as an event of a watch.',
    fields: {
      type: 'ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.',
      object: 'The object after the change; before it for DELETED; a Status for ERROR.',
    },
  },
  'meta/v1.APIResourceList': {
    type: 'The resources of one group and version.',
    fields: {
      groupVersion: 'The group and version.',
      resources: 'The resources, subresources included.',
    },
  },
  'meta/v1.APIResource': {
    type: 'One resource of the API.',
    fields: {
      name: 'The plural name, as in paths.',
      singularName: 'The singular name.',
      namespaced: 'Whether its objects are in namespaces.',
      group: 'The group of the kind, if it differs from that of the list.',
      version: 'The version of the kind, if it differs from that of the list.',
      verbs: 'Verbs that the resource supports.',
      shortNames: 'Short names for the command line.',
      categories: 'Groups of resources that it belongs to, such as all.',
      storageVersionHash: 'A hash that changes with the version in which objects are stored.',
    },
  },
};
