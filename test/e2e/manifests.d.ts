/** A ReplicaSet of busybox pods that print a line a second. */
export declare const replicaSet: (
  name: string,
  replicas: number,
  options?: {
    command?: string;
    grace?: number;
  },
) => string;
