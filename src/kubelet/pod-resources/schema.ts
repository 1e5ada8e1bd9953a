// The API of pod resources, version v1 (k8s.io/kubelet/pkg/apis/podresources/v1).

export const podResourcesSchema = {
  package: 'v1',
  enums: {},
  messages: {
    AllocatableResourcesRequest: {},
    AllocatableResourcesResponse: {
      devices: [1, 'ContainerDevices[]'],
      cpuIds: [2, 'int64[]'],
      memory: [3, 'ContainerMemory[]'],
    },
    ListPodResourcesRequest: {},
    ListPodResourcesResponse: { podResources: [1, 'PodResources[]'] },
    PodResources: {
      name: [1, 'string'],
      namespace: [2, 'string'],
      containers: [3, 'ContainerResources[]'],
    },
    ContainerResources: {
      name: [1, 'string'],
      devices: [2, 'ContainerDevices[]'],
      cpuIds: [3, 'int64[]'],
      memory: [4, 'ContainerMemory[]'],
      dynamicResources: [5, 'DynamicResource[]'],
    },
    ContainerMemory: {
      memoryType: [1, 'string'],
      size: [2, 'uint64'],
      topology: [3, 'TopologyInfo'],
    },
    ContainerDevices: {
      resourceName: [1, 'string'],
      deviceIds: [2, 'string[]'],
      topology: [3, 'TopologyInfo'],
    },
    TopologyInfo: { nodes: [1, 'NUMANode[]'] },
    NUMANode: { id: [1, 'int64'] },
    DynamicResource: {
      claimName: [2, 'string'],
      claimNamespace: [3, 'string'],
      claimResources: [4, 'ClaimResource[]'],
    },
    ClaimResource: {
      cdiDevices: [1, 'CDIDevice[]'],
      driverName: [2, 'string'],
      poolName: [3, 'string'],
      deviceName: [4, 'string'],
      shareId: [5, 'string', 'optional'],
    },
    CDIDevice: { name: [1, 'string'] },
    GetPodResourcesRequest: { podName: [1, 'string'], podNamespace: [2, 'string'] },
    GetPodResourcesResponse: { podResources: [1, 'PodResources'] },
  },
  services: {
    PodResourcesLister: {
      List: ['ListPodResourcesRequest', 'ListPodResourcesResponse'],
      GetAllocatableResources: ['AllocatableResourcesRequest', 'AllocatableResourcesResponse'],
      Get: ['GetPodResourcesRequest', 'GetPodResourcesResponse'],
    },
  },
} as const;

export type PodResourcesSchema = typeof podResourcesSchema;
