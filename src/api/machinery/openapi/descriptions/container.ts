// Descriptions of containers and their status.

import type { Descriptions } from './form.ts';

const containerFields = {
  name: 'The name of the container, unique in the pod; it never changes.',
  image: 'The image that it runs.',
  command:
    'The program to run; the entrypoint of the image if it is left out. $(NAME) stands for an environment variable.',
  args: 'Arguments of the program; those of the image if it is left out. $(NAME) stands for an environment variable.',
  workingDir: 'The working directory; that of the image if it is left out.',
  ports: 'Ports that the container listens at. A port that is not listed can be reached, too.',
  envFrom: 'ConfigMaps and Secrets whose data all become environment variables.',
  env: 'Environment variables.',
  resources: 'Resources that the container requests, and their limits.',
  resizePolicy: 'Whether the container restarts when its resources change.',
  restartPolicy: 'Restart policy of this container. Default: the policy of the pod.',
  restartPolicyRules: 'Rules for certain exit codes, which come before the restart policy.',
  volumeMounts: 'Where volumes of the pod appear in its files.',
  volumeDevices: 'Where block volumes of the pod appear among its devices.',
  livenessProbe: 'Asked now and then: when it fails, the container is restarted.',
  readinessProbe: 'Asked now and then: while it fails, services send no traffic.',
  startupProbe: 'Asked first: until it succeeds, no other probe is.',
  lifecycle: 'Hooks that run after the start and before the end of the container.',
  terminationMessagePath:
    'The file whose contents become the message of the status when the container ends.',
  terminationMessagePolicy:
    'File, or FallbackToLogsOnError: the end of the log if there is no message.',
  imagePullPolicy:
    'Always, IfNotPresent or Never; Always for images tagged latest if it is left out, else IfNotPresent.',
  securityContext: 'Settings of security; they go before those of the pod.',
  stdin: 'Whether the container has a standard input that is kept open.',
  stdinOnce: 'Whether standard input is closed when the first one attached leaves.',
  tty: 'Whether the container has a terminal.',
};

export const container: Descriptions = {
  'core/v1.Container': {
    type: 'One program of a pod: its image, and how to run it.',
    fields: containerFields,
  },
  'core/v1.EphemeralContainer': {
    type: 'A container put into a running pod, for a look at it.',
    fields: { ...containerFields, targetContainerName: 'The container whose processes it sees.' },
  },
  'core/v1.ContainerPort': {
    type: 'A port that a container listens at.',
    fields: {
      name: 'A name that services can call it by.',
      hostPort: 'A port of the node that leads here.',
      containerPort: 'The port.',
      protocol: 'TCP, UDP or SCTP; TCP if it is left out.',
      hostIP: 'The address of the node that hostPort is at.',
    },
  },
  'core/v1.EnvVar': {
    type: 'An environment variable.',
    fields: {
      name: 'The name of the variable.',
      value: 'Its value. $(NAME) stands for a variable before it; $$ for a dollar sign.',
      valueFrom: 'Where the value comes from.',
    },
  },
  'core/v1.EnvVarSource': {
    type: 'Where the value of an environment variable comes from.',
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
      limits: 'The most that it may use.',
      requests: 'Amounts that the node reserves for it. Default: the limits.',
      claims: 'Claims of devices that it uses.',
    },
  },
  'core/v1.VolumeMount': {
    type: 'Where a volume appears in the files of a container.',
    fields: {
      name: 'The name of the volume in the pod.',
      readOnly: 'Whether it can only be read.',
      recursiveReadOnly: 'Whether mounts inside it can only be read, too.',
      mountPath: 'Where it appears.',
      subPath: 'The path inside the volume that appears there; all of it if it is left out.',
      subPathExpr: 'The same, with $(NAME) for environment variables.',
      mountPropagation: 'Whether later mounts pass between the node and the container.',
    },
  },
  'core/v1.Probe': {
    type: 'How a container is asked how it is.',
    fields: {
      exec: 'Run a command in it: it is well if that exits with 0.',
      httpGet: 'Send a request to it: it is well if the answer is 2xx or 3xx.',
      tcpSocket: 'Connect to it: it is well if that can be done.',
      grpc: 'Ask it for its health over gRPC.',
      initialDelaySeconds: 'How long after the start it is first asked.',
      timeoutSeconds: 'How long an answer may take; 1 if it is left out.',
      periodSeconds: 'How often it is asked; every 10 seconds if it is left out.',
      successThreshold:
        'How many good answers in a row count, after bad ones; 1 if it is left out.',
      failureThreshold: 'How many bad answers in a row count; 3 if it is left out.',
      terminationGracePeriodSeconds: 'How long the container is given to end when the probe fails.',
    },
  },
  'core/v1.Lifecycle': {
    type: 'Hooks that run after the start and before the end of a container.',
    fields: {
      postStart: 'Done right after the start; if it fails, the container is ended.',
      preStop: 'Done before the container is asked to end.',
      stopSignal: 'The signal that asks it to end; that of the image if it is left out.',
    },
  },
  'core/v1.SecurityContext': {
    type: 'Settings of security for a container.',
    fields: {
      capabilities: 'Linux capabilities that it has beyond, or not among, the usual ones.',
      privileged: 'Whether it may do what root on the node may.',
      seLinuxOptions: 'The SELinux labels.',
      windowsOptions: 'Settings for Windows.',
      runAsUser: 'The user id that it runs as.',
      runAsGroup: 'The group id that it runs as.',
      runAsNonRoot: 'Whether it is refused if it would run as root.',
      readOnlyRootFilesystem: 'Whether its own files can only be read.',
      allowPrivilegeEscalation: 'Whether a process may gain more rights than its parent.',
      procMount: 'How /proc is mounted.',
      seccompProfile: 'Which system calls are allowed.',
      appArmorProfile: 'The AppArmor profile.',
    },
  },
  'core/v1.ContainerStatus': {
    type: 'How a container is.',
    fields: {
      allocatedResourcesStatus: 'The health of the devices of the container.',
      name: 'The name of the container.',
      state: 'How it is now.',
      lastState: 'How it ended the last time.',
      ready: 'Whether it can serve traffic.',
      restartCount: 'How often it has been restarted.',
      image: 'The image that it runs.',
      imageID: 'The very image, by its digest.',
      containerID: 'Identifier in the container runtime, such as containerd://1234.',
      started: 'Whether it has started, and its startup probe has succeeded.',
      allocatedResources: 'Amounts that the node reserves for it.',
      resources: 'Requests and limits in effect.',
      volumeMounts: 'Its mounts, as they are in effect.',
      user: 'The user that it started as.',
      stopSignal: 'The signal that asks it to end.',
    },
  },
  'core/v1.ContainerState': {
    type: 'How a container is: one of these.',
    fields: {
      waiting: 'It has not started, or not again.',
      running: 'It runs.',
      terminated: 'It has ended.',
    },
  },
  'core/v1.ContainerStateWaiting': {
    type: 'Why a container does not run yet.',
    fields: { reason: 'Why, as one word for programs.', message: 'Why, for people.' },
  },
  'core/v1.ContainerStateRunning': {
    type: 'Since when a container runs.',
    fields: { startedAt: 'When it started.' },
  },
  'core/v1.ContainerStateTerminated': {
    type: 'How a container ended.',
    fields: {
      exitCode: 'The exit code of its program.',
      signal: 'The signal that ended it.',
      reason: 'Why, as one word for programs.',
      message: 'Why, for people; what the container wrote as its last words.',
      startedAt: 'When it started.',
      finishedAt: 'When it ended.',
      containerID: 'Identifier in the container runtime.',
    },
  },
};
