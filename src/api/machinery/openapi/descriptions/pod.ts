// Descriptions of pods, without their containers.

import type { Descriptions } from './form.ts';

export const pod: Descriptions = {
  'core/v1.Pod': {
    type: 'A set of containers that run together on one node, with one address and shared volumes.',
  },
  'core/v1.PodTemplateSpec': {
    type: 'The pods that a controller creates.',
    fields: { metadata: 'Labels and annotations of the pods.', spec: 'The spec of the pods.' },
  },
  'core/v1.PodSpec': {
    type: 'The desired state of a pod.',
    fields: {
      volumes: 'Volumes that the containers can mount.',
      initContainers:
        'Containers that run to completion one after the other before the others start. ' +
        'Those with restartPolicy Always keep running as sidecars.',
      containers: 'The containers; there is at least one, and each has its own name.',
      ephemeralContainers: 'Containers that were added to the running pod for debugging.',
      restartPolicy: 'When containers are restarted: Always, OnFailure or Never. Default: Always.',
      terminationGracePeriodSeconds:
        'How many seconds containers have to end after SIGTERM. Default: 30.',
      activeDeadlineSeconds: 'How many seconds the pod may run in total.',
      dnsPolicy:
        'Where names are resolved: ClusterFirst, ClusterFirstWithHostNet, Default or None. Default: ClusterFirst.',
      nodeSelector: 'Labels that the node must have.',
      serviceAccountName: 'The service account that the containers run as.',
      serviceAccount: 'An old name of serviceAccountName.',
      automountServiceAccountToken:
        'Whether a token of the service account is mounted into the containers.',
      nodeName: 'The node that the pod runs on; set by the scheduler.',
      hostNetwork: 'Whether the pod uses the network of its node.',
      hostPID: 'Whether the pod sees the processes of its node.',
      hostIPC: 'Whether the pod shares inter-process communication with its node.',
      shareProcessNamespace: 'Whether the containers see the processes of each other.',
      securityContext: 'Users, groups and other settings of security for the whole pod.',
      imagePullSecrets: 'Secrets to pull images with.',
      hostname: 'The host name. Default: the name of the pod.',
      subdomain: 'With hostname, gives the pod a DNS name.',
      affinity: 'Rules for the choice of the node.',
      schedulerName: 'The scheduler that assigns the pod to a node.',
      tolerations: 'Taints of nodes that the pod tolerates.',
      hostAliases: 'Lines for the hosts file of the containers.',
      priorityClassName: 'The name of the priority class of the pod.',
      priority: 'The priority. Set from the priority class.',
      dnsConfig: 'Name servers and search domains, in addition to those of dnsPolicy.',
      readinessGates:
        'Conditions that must be true, besides ready containers, for the pod to be ready.',
      runtimeClassName: 'The runtime class that the containers run in.',
      enableServiceLinks:
        'Whether containers get environment variables for services of their namespace. Default: true.',
      preemptionPolicy:
        'Whether pods of lower priority may be evicted for this one: PreemptLowerPriority or Never.',
      overhead: 'Resources that the pod uses beyond its containers. Set from the runtime class.',
      topologySpreadConstraints:
        'How evenly pods are spread over topologies such as zones and nodes.',
      setHostnameAsFQDN: 'Whether the host name is the full DNS name.',
      os: 'The operating system of the containers.',
      hostUsers: 'Whether the pod shares the user namespace of its node. Default: true.',
      schedulingGates: 'Gates. As long as there is one, the pod is not scheduled.',
      resourceClaims: 'Claims of devices that the containers use.',
      resources: 'Requests and limits of the pod as a whole.',
      hostnameOverride: 'The host name. It takes precedence over hostname and subdomain.',
      schedulingGroup: 'The group that the pod is scheduled with.',
    },
  },
  'core/v1.PodStatus': {
    type: 'The observed state of a pod, as its node reports it.',
    fields: {
      phase: 'Pending, Running, Succeeded, Failed or Unknown.',
      conditions:
        'Conditions of the pod: PodScheduled, Initialized, ContainersReady, Ready and others.',
      message: 'The reason of the state, for people.',
      reason: 'The reason of the state, as one word for programs.',
      nominatedNodeName: 'The node on which preemption makes room for the pod.',
      hostIP: 'The address of its node.',
      hostIPs: 'The addresses of its node.',
      podIP: 'The address of the pod.',
      podIPs: 'The addresses of the pod, one for each IP family.',
      startTime: 'When the kubelet accepted the pod.',
      initContainerStatuses: 'The state of each init container.',
      containerStatuses: 'The state of each container.',
      ephemeralContainerStatuses: 'The state of each ephemeral container.',
      qosClass: 'Guaranteed, Burstable or BestEffort, derived from the requests of the containers.',
      resize: 'Whether a change of its resources is in progress. Deprecated: see the conditions.',
      resourceClaimStatuses: 'The claims that were created for the pod.',
      extendedResourceClaimStatus: 'The claim that was created for extended resources of the pod.',
      allocatedResources: 'The resources that the node has allocated to the pod as a whole.',
      resources: 'The resources that are in effect for the pod as a whole.',
      nodeAllocatableResourceClaimStatuses: 'Resources of the node that claims of the pod use.',
    },
  },
  'core/v1.PodCondition': {
    type: 'A condition of a pod.',
    fields: {
      type: 'The type of the condition.',
      status: 'True, False or Unknown.',
      lastProbeTime: 'When the condition was last checked.',
      reason: 'The reason, as one word for programs.',
      message: 'The reason, for people.',
    },
  },
  'core/v1.PodSecurityContext': {
    type: 'Security settings for all containers of a pod. A container can override them.',
    fields: {
      runAsUser: 'The user id that processes run as.',
      runAsGroup: 'The group id that processes run as.',
      runAsNonRoot: 'Whether a container that would run as root is not started.',
      supplementalGroups: 'Further groups of the processes.',
      fsGroup: 'The group that owns the files of volumes.',
      fsGroupChangePolicy:
        'Always to change the group of files at each mount, OnRootMismatch only if needed.',
      sysctls: 'Kernel parameters of the pod.',
      seccompProfile: 'Which system calls are allowed.',
      seLinuxOptions: 'The SELinux labels.',
      windowsOptions: 'Settings for Windows.',
      appArmorProfile: 'The AppArmor profile.',
      supplementalGroupsPolicy:
        'Whether groups of the image are added: Merge or Strict. Default: Merge.',
      seLinuxChangePolicy: 'How volumes get their SELinux label: Recursive or MountOption.',
    },
  },
  'core/v1.Affinity': {
    type: 'Which nodes a pod must or should be on.',
    fields: {
      nodeAffinity: 'By the labels of nodes.',
      podAffinity: 'Near other pods.',
      podAntiAffinity: 'Away from other pods.',
    },
  },
  'core/v1.Toleration': {
    type: 'A taint of nodes that the pod tolerates.',
    fields: {
      key: 'The key of the taint. Empty with Exists: all taints.',
      operator: 'Exists, or Equal to compare the value. Default: Equal.',
      value: 'The value of the taint.',
      effect: 'The effect of the taint. Empty: all effects.',
      tolerationSeconds: 'How long NoExecute is tolerated. Absent: forever.',
    },
  },
  'core/v1.Volume': {
    type: 'A directory that containers of the pod can mount, and its source.',
    like: 'core/v1.VolumeSource',
    fields: {
      name: 'The name of the volume in the pod.',
      hostPath: 'A file or directory of the node.',
      emptyDir: 'An empty directory with the lifetime of the pod.',
      secret: 'The data of a Secret.',
      configMap: 'The data of a ConfigMap.',
      downwardAPI: 'Fields of the pod itself.',
      projected: 'Several sources in one directory.',
      persistentVolumeClaim: 'The storage of a PersistentVolumeClaim.',
      ephemeral: 'Storage that is claimed for the pod, and released with it.',
      csi: 'Storage of a CSI driver for the lifetime of the pod.',
      nfs: 'A directory of an NFS server.',
      image: 'The files of a container image.',
    },
  },
  'core/v1.EmptyDirVolumeSource': {
    type: 'An empty directory with the lifetime of the pod.',
    fields: {
      medium: 'Memory to keep it in memory. Default: on disk.',
      sizeLimit: 'The maximum size.',
    },
  },
  'core/v1.HostPathVolumeSource': {
    type: 'A file or directory of the node.',
    fields: {
      path: 'The path on the node.',
      type: 'Type that the path must have, or that is created: DirectoryOrCreate, File, Socket and so on.',
    },
  },
  'core/v1.SecretVolumeSource': {
    type: 'The data of a Secret, as files.',
    fields: {
      secretName: 'The name of the Secret.',
      items: 'The keys that become files, and their paths. Default: all keys.',
      defaultMode: 'The permissions of the files. Default: 0644.',
      optional: 'Whether the Secret may be missing.',
    },
  },
  'core/v1.ConfigMapVolumeSource': {
    type: 'The data of a ConfigMap, as files.',
    fields: {
      name: 'The name of the ConfigMap.',
      items: 'The keys that become files, and their paths. Default: all keys.',
      defaultMode: 'The permissions of the files. Default: 0644.',
      optional: 'Whether the ConfigMap may be missing.',
    },
  },
  'core/v1.KeyToPath': {
    type: 'A key of the data, and the file for it.',
    fields: {
      key: 'The key in the data.',
      path: 'The path of the file in the volume.',
      mode: 'The permissions of the file.',
    },
  },
};
