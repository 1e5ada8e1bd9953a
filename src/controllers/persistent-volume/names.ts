// Annotations by which the binder, the scheduler and provisioners speak to each other.

/** On a claim: it has been bound once, and shall never be bound to another volume. */
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';
/** On a volume or claim: its reference to the other was set by the binder, which may undo it. */
export const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';
/** On a volume: the provisioner that has made it and is to delete it. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
/** Annotation of a claim: the provisioner that must create a volume for it. */
export const STORAGE_PROVISIONER = 'volume.kubernetes.io/storage-provisioner';
export const BETA_STORAGE_PROVISIONER = 'volume.beta.kubernetes.io/storage-provisioner';
/** On a claim: the node of its first consumer, from the scheduler. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
/** On a volume or claim: what the field storageClassName was before it was a field. */
export const BETA_STORAGE_CLASS = 'volume.beta.kubernetes.io/storage-class';
/**
 * On a volume that is resized: what claims still have of it until the node has grown the file
 * system.
 */
export const PRE_RESIZE_CAPACITY = 'volume.alpha.kubernetes.io/pre-resize-capacity';
/** On a volume or claim: the CSI driver that has taken it over from an in-tree plugin. */
export const MIGRATED_TO = 'pv.kubernetes.io/migrated-to';
/** On a claim: who makes its volume larger. */
export const STORAGE_RESIZER = 'volume.kubernetes.io/storage-resizer';
/** Finalizer of a volume: it is kept until an in-tree plugin has deleted the storage. */
export const IN_TREE_FINALIZER = 'kubernetes.io/pv-controller';
