// Annotations that the binder, the scheduler and provisioners use to coordinate.

/** Annotation of a claim: it was bound once, and must never be bound to another volume. */
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';
/**
 * Annotation of a volume or claim: the binder set the reference to the other object, and may remove
 * it.
 */
export const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';
/** Annotation of a volume: the provisioner that created it and has to delete it. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
/** Annotation of a claim: the provisioner that must create a volume for it. */
export const STORAGE_PROVISIONER = 'volume.kubernetes.io/storage-provisioner';
export const BETA_STORAGE_PROVISIONER = 'volume.beta.kubernetes.io/storage-provisioner';
/** Annotation of a claim: the node of its first consumer, set by the scheduler. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
/**
 * Annotation of a volume or claim: its storage class, from before the field storageClassName
 * existed.
 */
export const BETA_STORAGE_CLASS = 'volume.beta.kubernetes.io/storage-class';
/**
 * Annotation of a volume during an expansion: the capacity that claims still have until the node
 * has grown the file system.
 */
export const PRE_RESIZE_CAPACITY = 'volume.alpha.kubernetes.io/pre-resize-capacity';
/**
 * Annotation of a volume or claim: the CSI driver that has taken it over from an in-tree plugin.
 */
export const MIGRATED_TO = 'pv.kubernetes.io/migrated-to';
/** Annotation of a claim: the component that expands its volume. */
export const STORAGE_RESIZER = 'volume.kubernetes.io/storage-resizer';
/** Finalizer of a volume: it is kept until an in-tree plugin has deleted the storage. */
export const IN_TREE_FINALIZER = 'kubernetes.io/pv-controller';
