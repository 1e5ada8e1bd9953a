// The annotations by which an update finds its state again: those of kubectl up to version 1.17.

/** On the new controller: 'NAME:UID' of the old one. */
export const SOURCE_ID = 'kubectl.kubernetes.io/update-source-id';
/** On the new controller: the replicas that it ends with. */
export const DESIRED_REPLICAS = 'kubectl.kubernetes.io/desired-replicas';
/** On the old controller: the replicas that it had. */
export const ORIGINAL_REPLICAS = 'kubectl.kubernetes.io/original-replicas';
/** On the old controller: the name of the new one. */
export const NEXT_CONTROLLER = 'kubectl.kubernetes.io/next-controller-id';
