// The annotations with the state of an update, which an interrupted update resumes from. They are
// those of kubectl up to version 1.17.

/** An annotation of the new controller: 'NAME:UID' of the old one. */
export const SOURCE_ID = 'kubectl.kubernetes.io/update-source-id';
/** An annotation of the new controller: its final number of replicas. */
export const DESIRED_REPLICAS = 'kubectl.kubernetes.io/desired-replicas';
/** An annotation of the old controller: its original number of replicas. */
export const ORIGINAL_REPLICAS = 'kubectl.kubernetes.io/original-replicas';
/** An annotation of the old controller: the name of the new one. */
export const NEXT_CONTROLLER = 'kubectl.kubernetes.io/next-controller-id';
