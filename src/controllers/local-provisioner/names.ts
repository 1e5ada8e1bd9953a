// The names of the built-in provisioner and of its objects.

export const PROVISIONER = 'coxswain.dev/local';
/** The name of the StorageClass that every new cluster gets. */
export const DEFAULT_CLASS = 'standard';
/**
 * Annotation of a Node, set by its kubelet: the directory below which it creates volumes. Empty for
 * a simulated node.
 */
export const LOCAL_VOLUMES = 'coxswain.dev/local-volumes';
/** Annotation of a volume: the name of its node. */
export const VOLUME_NODE = 'coxswain.dev/local-volume-node';
/** Finalizer of a volume with reclaim policy Delete: its directory is removed before the volume. */
export const DIRECTORY_FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer';
export const HOSTNAME_LABEL = 'kubernetes.io/hostname';
/** The path in volumes of simulated nodes. No directory exists there. */
export const SIMULATED_DIRECTORY = '/var/lib/kubelet/local-volumes';
