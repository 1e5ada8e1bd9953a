// Descriptions of containers and their status.

import type { Descriptions } from './form.ts';

const containerFields = {
  name: 'The name of the container, unique in the pod. It cannot be changed.',
  image: 'The image of the container.',
  command:
    'The program to run. Default: the entrypoint of the image. $(NAME) is replaced by an ' +
    'environment variable.',
  args:
    'Arguments of the program. Default: those of the image. $(NAME) is replaced by an ' +
    'environment variable.',
  workingDir: 'The working directory. Default: that of the image.',
  ports: 'Ports of the container. Ports that are not listed are reachable, too.',
  envFrom: 'ConfigMaps and Secrets whose keys all become environment variables.',
  env: 'Environment variables.',
  resources: 'Resources that the container requests, and their limits.',
  resizePolicy: 'Whether the container restarts when its resources change.',
  restartPolicy: 'Restart policy of this container. Default: the policy of the pod.',
  restartPolicyRules: 'Rules for certain exit codes. They take precedence over the restart policy.',
  volumeMounts: 'Volumes of the pod that are mounted into the container.',
  volumeDevices: 'Block volumes of the pod that become devices of the container.',
  livenessProbe: 'A periodic probe. When it fails, the container is restarted.',
  readinessProbe: 'A periodic probe. While it fails, services send no traffic to the pod.',
  startupProbe: 'A probe after the start. Other probes begin when it has succeeded.',
  lifecycle: 'Hooks that run after the start and before the end of the container.',
  terminationMessagePath:
    'The file whose contents become the message of the status when the container ends.',
  terminationMessagePolicy:
    'File, or FallbackToLogsOnError to use the end of the log if there is no message.',
  imagePullPolicy:
    'Always, IfNotPresent or Never. Default: Always for the tag latest, IfNotPresent for ' +
    'others.',
  securityContext: 'Security settings. They take precedence over those of the pod.',
  stdin: 'Whether standard input stays open.',
  stdinOnce: 'Whether standard input is closed when the first attached client disconnects.',
  tty: 'Whether the container has a terminal.',
};

export const container: Descriptions = {
  'core/v1.Container': {
    type: 'A container of a pod: its image, and how to run it.',
    fields: containerFields,
  },
  'core/v1.EphemeralContainer': {
    type: 'A container that is added to a running pod for debugging.',
    fields: {
      ...containerFields,
      targetContainerName: 'The container whose processes are visible.',
    },
  },
  'core/v1.ContainerPort': {
    type: 'A port of a container.',
    fields: {
      name: 'A name of the port, to which services can refer.',
      hostPort: 'The port of the node that is forwarded to the container.',
      containerPort: 'The port.',
      protocol: 'TCP, UDP or SCTP. Default: TCP.',
      hostIP: 'The address of the node for hostPort.',
    },
  },
  'core/v1.EnvVar': {
    type: 'An environment variable.',
    fields: {
      name: 'The name of the variable.',
      value: 'The value. $(NAME) is replaced by a variable before it, $$ by a dollar sign.',
      valueFrom: 'The source of the value.',
    },
  },
  'core/v1.EnvVarSource': {
    type: 'The source of an environment variable.',
    fields: {
      fieldRef: 'A field of the pod.',
      resourceFieldRef: 'A request or a limit of a container.',
      configMapKeyRef: 'The data of a ConfigMap.',
      secretKeyRef: 'The data of a Secret.',
      fileKeyRef: 'A file of a volume.',
    },
  },
  'core/v1.ResourceRequirements': {
    type: 'Resources that a container requests, and their limits.',
    fields: {
      limits: 'The maximum amounts.',
      requests: 'Amounts that the node reserves for it. Default: the limits.',
      claims: 'Device claims that the container uses.',
    },
  },
  'core/v1.VolumeMount': {
    type: 'A volume that is mounted into a container.',
    fields: {
      name: 'The name of the volume in the pod.',
      readOnly: 'Whether the mount is read-only.',
      recursiveReadOnly: 'Whether mounts below it are read-only, too.',
      mountPath: 'The path in the container.',
      subPath: 'The path inside the volume. Default: the whole volume.',
      subPathExpr: 'The path inside the volume, with $(NAME) for environment variables.',
      mountPropagation: 'Whether later mounts are propagated between the node and the container.',
    },
  },
  'core/v1.Probe': {
    type: 'A health check of a container.',
    fields: {
      exec: 'Runs a command in the container. Exit code 0 is success.',
      httpGet: 'Sends an HTTP request. A status of 2xx or 3xx is success.',
      tcpSocket: 'Opens a TCP connection. An open connection is success.',
      grpc: 'Performs a gRPC health check.',
      initialDelaySeconds: 'The time from the start of the container to the first check.',
      timeoutSeconds: 'The time limit of a check. Default: 1.',
      periodSeconds: 'The time between checks. Default: 10.',
      successThreshold:
        'The number of successive successes after which a failed check counts as successful. ' +
        'Default: 1.',
      failureThreshold:
        'The number of successive failures after which the check counts as failed. Default: 3.',
      terminationGracePeriodSeconds: 'The grace period of the container when the probe fails.',
    },
  },
  'core/v1.Lifecycle': {
    type: 'Hooks that run after the start and before the end of a container.',
    fields: {
      postStart: 'Runs right after the start. If it fails, the container is stopped.',
      preStop: 'Runs before the container is stopped.',
      stopSignal: 'The signal that stops the container. Default: that of the image.',
    },
  },
  'core/v1.SecurityContext': {
    type: 'Security settings of a container.',
    fields: {
      capabilities: 'Linux capabilities to add to, or remove from, the default ones.',
      privileged: 'Whether processes have the rights of root on the node.',
      seLinuxOptions: 'The SELinux labels.',
      windowsOptions: 'Settings for Windows.',
      runAsUser: 'The user ID of the processes.',
      runAsGroup: 'The group ID of the processes.',
      runAsNonRoot: 'Whether the container is rejected if it would run as root.',
      readOnlyRootFilesystem: 'Whether the root file system is read-only.',
      allowPrivilegeEscalation: 'Whether a process may gain more rights than its parent.',
      procMount: 'How /proc is mounted.',
      seccompProfile: 'Which system calls are allowed.',
      appArmorProfile: 'The AppArmor profile.',
    },
  },
  'core/v1.ContainerStatus': {
    type: 'The state of a container.',
    fields: {
      allocatedResourcesStatus: 'The health of the devices of the container.',
      name: 'The name of the container.',
      state: 'The current state.',
      lastState: 'The state of the last terminated run.',
      ready: 'Whether it can serve traffic.',
      restartCount: 'The number of restarts.',
      image: 'The image of the container.',
      imageID: 'The ID of the image, which contains its digest.',
      containerID: 'Identifier in the container runtime, such as containerd://1234.',
      started: 'Whether it has started, and its startup probe has succeeded.',
      allocatedResources: 'Amounts that the node reserves for it.',
      resources: 'Requests and limits in effect.',
      volumeMounts: 'The effective mounts.',
      user: 'The initial user of the container.',
      stopSignal: 'The signal that stops the container.',
    },
  },
  'core/v1.ContainerState': {
    type: 'The state of a container. One field is set.',
    fields: {
      waiting: 'The container is waiting to be started.',
      running: 'The container is running.',
      terminated: 'The container has terminated.',
    },
  },
  'core/v1.ContainerStateWaiting': {
    type: 'Details of a waiting container.',
    fields: { reason: 'The reason, as one word for programs.', message: 'The reason, for people.' },
  },
  'core/v1.ContainerStateRunning': {
    type: 'Details of a running container.',
    fields: { startedAt: 'When it started.' },
  },
  'core/v1.ContainerStateTerminated': {
    type: 'Details of a terminated container.',
    fields: {
      exitCode: 'The exit code of the program.',
      signal: 'The signal that terminated the container.',
      reason: 'The reason, as one word for programs.',
      message: 'The reason, for people: the termination message of the container.',
      startedAt: 'When it started.',
      finishedAt: 'When it terminated.',
      containerID: 'Identifier in the container runtime.',
    },
  },
};
