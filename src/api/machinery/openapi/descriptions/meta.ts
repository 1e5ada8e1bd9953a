// Descriptions of the types that all kinds share.

import type { Descriptions } from './form.ts';

export const meta: Descriptions = {
  'meta/v1.ObjectMeta': {
    type: 'Metadata of every object: identity, labels, annotations, owners, and the state of its deletion.',
    fields: {
      name: 'The name of the object, unique among those of its kind in its namespace; it never changes.',
      generateName: 'A prefix to which the server adds a random suffix, if no name is given.',
      namespace:
        'The namespace that the object is in; kinds that belong to the whole cluster have none.',
      selfLink: 'No longer used.',
      uid: 'Given by the server: tells this object from any other, past ones of the same name included.',
      resourceVersion:
        'Given by the server at every change; an update that names an old one is refused.',
      generation: 'Counts the changes of what is wanted.',
      creationTimestamp:
        'CreationTimestamp is a timestamp of the moment when the server created the object.',
      deletionTimestamp:
        'When the object will be deleted. Set by the server when its deletion is requested.',
      deletionGracePeriodSeconds:
        'How long the object is given to end, from the request for its deletion on.',
      labels: 'Names and values by which objects are selected.',
      annotations:
        'Names and values that tools and people keep with the object; nothing is selected by them.',
      ownerReferences:
        'The objects that this one belongs to: when all of them are gone, it goes too.',
      finalizers:
        'Finalizers: the object is deleted when the list is empty. Each controller removes its own entry.',
      managedFields: 'The owners of fields, as server-side apply records them.',
    },
  },
  'meta/v1.ListMeta': {
    type: 'Metadata of every list: the version at which it was read, and where the next page begins.',
    fields: {
      shardInfo: 'The part of the collection that the list has.',
      selfLink: 'No longer used.',
      resourceVersion:
        'The version of the cluster that the list was read at; a watch can begin there.',
      continue: 'Ask for the next page with this token; there is no next page without one.',
      remainingItemCount: 'How many items follow this page, where that is known.',
    },
  },
  'meta/v1.OwnerReference': {
    type: 'Names an owner of the object, in the same namespace or belonging to the whole cluster.',
    fields: {
      name: 'The name of the owner.',
      uid: 'The uid of the owner: another object of the same name is not it.',
      controller: 'Whether the owner is the one that manages the object; at most one is.',
      blockOwnerDeletion:
        'Whether an owner that is deleted in the foreground waits for this object to be gone.',
    },
  },
  'meta/v1.LabelSelector': {
    type: 'Selects objects by their labels; an empty selector selects all. Every requirement must be met.',
    fields: {
      matchLabels: 'Labels that the objects must have, with these values.',
      matchExpressions: 'Requirements on labels that go beyond equality.',
    },
  },
  'meta/v1.LabelSelectorRequirement': {
    type: 'One requirement on a label.',
    fields: {
      key: 'The name of the label.',
      operator: 'How the label is compared: In, NotIn, Exists or DoesNotExist.',
      values: 'Values to compare with. Empty for Exists and DoesNotExist.',
    },
  },
  'meta/v1.ManagedFieldsEntry': {
    type: 'The fields that one manager owns.',
    fields: {
      manager: 'The name of the manager: the tool or component that wrote them.',
      operation: 'How they were written: Apply or Update.',
      apiVersion: 'The version of the API that the fields are named in.',
      time: 'When the entry last changed.',
      fieldsType: 'The form of the set of fields; FieldsV1 is the only one.',
      fieldsV1: 'The set of fields.',
      subresource: 'The subresource through which they were written, if any.',
    },
  },
  'meta/v1.Condition': {
    type: 'One aspect of the state of an object.',
    fields: {
      type: 'The name of the aspect.',
      status: 'Whether it holds: True, False or Unknown.',
      reason: 'Why, as one word for programs.',
      message: 'Why, for people.',
    },
  },
  'meta/v1.Status': {
    type: 'The outcome of a request that answers with no object.',
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
      uid: 'The uid of the object.',
      causes: 'Every single thing that is wrong.',
      retryAfterSeconds: 'How long to wait before trying again.',
    },
  },
  'meta/v1.StatusCause': {
    type: 'One thing that is wrong.',
    fields: {
      reason: 'Reason in one word, for programs.',
      message: 'Message for users.',
      field: 'The field that it is wrong with, such as spec.containers[0].image.',
    },
  },
  'meta/v1.DeleteOptions': {
    type: 'How an object is to be deleted.',
    fields: {
      gracePeriodSeconds: 'How long the object is given to end; zero deletes it at once.',
      preconditions: 'Preconditions. The deletion is rejected if one does not hold.',
      orphanDependents: 'No longer used: see propagationPolicy.',
      propagationPolicy: 'Treatment of dependent objects: Orphan, Background or Foreground.',
      dryRun: 'All: check everything and change nothing.',
      ignoreStoreReadErrorWithClusterBreakingPotential:
        'Delete even an object that can no longer be read, finalizers or not.',
    },
  },
  'meta/v1.Preconditions': {
    type: 'Preconditions of a deletion.',
    fields: {
      uid: 'The uid that the object must have.',
      resourceVersion: 'The version that the object must be at.',
    },
  },
  'meta/v1.WatchEvent': {
    type: 'One change that a watch tells of.',
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
      group: 'The group of its kind, where it is another one than that of the list.',
      version: 'The version of its kind, where it is another one than that of the list.',
      verbs: 'Verbs that the resource supports.',
      shortNames: 'Short names for the command line.',
      categories: 'Groups of resources that it belongs to, such as all.',
      storageVersionHash: 'Tells whether the version in which objects are stored has changed.',
    },
  },
};
