// A claim that drivers have prepared, or may have, on this node.

export interface PreparedDevice {
  readonly poolName: string;
  readonly deviceName: string;
  readonly shareId?: string;
  readonly requestNames: readonly string[];
  readonly cdiDeviceIds: readonly string[];
}

export interface ClaimInfo {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** The UIDs of the pods that use the claim on this node. */
  readonly pods: Set<string>;
  /** The devices by driver. Every driver of the claim has an entry, even without devices. */
  readonly drivers: Map<string, readonly PreparedDevice[]>;
  /** All drivers have prepared the claim since the kubelet started. */
  isPrepared: boolean;
}

/** Returns the CDI devices of the claim for a request; '' stands for all requests. */
export function cdiDevicesOf(info: ClaimInfo, request: string): readonly string[] {
  return [...info.drivers.values()]
    .flat()
    .filter(({ requestNames }) => isForRequest(requestNames, request))
    .flatMap(({ cdiDeviceIds }) => cdiDeviceIds);
}

/** Reports whether a device with these requests belongs to the request. */
export function isForRequest(requestNames: readonly string[], request: string): boolean {
  return request === '' || requestNames.length === 0 || requestNames.includes(request);
}
