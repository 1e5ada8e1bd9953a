// Manifests that several end-to-end tests use.

/** Returns a ReplicaSet of busybox pods that print a line a second. */
export const replicaSet = (
  name: string,
  replicas: number,
  options: { command?: string; grace?: number } = {},
): string => `apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: ${name}
  labels: { app: ${name} }
spec:
  replicas: ${replicas}
  selector:
    matchLabels: { app: ${name} }
  template:
    metadata:
      labels: { app: ${name} }
    spec:
      terminationGracePeriodSeconds: ${options.grace ?? 2}
      containers:
        - name: busybox
          image: busybox
          imagePullPolicy: IfNotPresent
          command: [sh, -c, '${options.command ?? 'i=0; while true; do echo line $i; i=$((i+1)); sleep 1; done'}']
          env:
            - name: POD_NAME
              valueFrom: { fieldRef: { fieldPath: metadata.name } }
`;
