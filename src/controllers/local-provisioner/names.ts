// The names of the built-in provisioner and of its objects.

export const PROVISIONER = 'coxswain.dev/local';
/** The name of the StorageClass that every new cluster gets. */
export const DEFAULT_CLASS = 'standard';
/**
 * On a Node, from its kubelet: the directory below which it makes volumes. Empty: it only pretends.
 */
export const LOCAL_VOLUMES = 'coxswain.dev/local-volumes';
/** On a volume: the name of the node that it is on. */
export const VOLUME_NODE = 'coxswain.dev/local-volume-node';
/** On a volume that goes with its claim: its directory has to be removed before it. */
export const DIRECTORY_FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer';
export const HOSTNAME_LABEL = 'kubernetes.io/hostname';
/** Where directories of nodes would be that only pretend. */
export const PRETENDED_DIRECTORY = '/var/lib/kubelet/local-volumes';
