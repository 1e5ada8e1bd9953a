// The file dra_manager_state, in upstream's layout: a JSON text in a JSON object, with the CRC-32 of
// the text.

import { crc32 } from 'node:zlib';
import type { ClaimInfo, PreparedDevice } from './claim-info.ts';

/** The name of the file. */
export const DRA_CHECKPOINT = 'dra_manager_state';

const TYPE = { kind: 'DRACheckpoint', apiVersion: 'checkpoint.dra.kubelet.k8s.io/v1' };

interface ClaimState {
  readonly ClaimUID: string;
  readonly ClaimName: string;
  readonly Namespace: string;
  readonly PodUIDs: Readonly<Record<string, object>> | null;
  readonly DriverState: Readonly<Record<string, DriverState>> | null;
}

interface DriverState {
  readonly Devices: readonly DeviceState[] | null;
}

interface DeviceState {
  readonly PoolName: string;
  readonly DeviceName: string;
  readonly ShareID: string | null;
  readonly RequestNames: readonly string[] | null;
  readonly CDIDeviceIDs: readonly string[] | null;
}

export function encodeClaims(claims: readonly ClaimInfo[]): string {
  const list = claims.map((claim): ClaimState => ({
    ClaimUID: claim.uid,
    ClaimName: claim.name,
    Namespace: claim.namespace,
    PodUIDs: Object.fromEntries([...claim.pods].map((uid) => [uid, {}])),
    DriverState: Object.fromEntries(
      [...claim.drivers].map(([driver, devices]) => [
        driver,
        { Devices: devices.length === 0 ? null : devices.map(deviceState) },
      ]),
    ),
  }));
  const data = JSON.stringify({ ...TYPE, ClaimInfoStateList: list });
  return JSON.stringify({ Data: data, Checksum: crc32(data) });
}

function deviceState(device: PreparedDevice): DeviceState {
  return {
    PoolName: device.poolName,
    DeviceName: device.deviceName,
    ShareID: device.shareId ?? null,
    RequestNames: device.requestNames,
    CDIDeviceIDs: device.cdiDeviceIds,
  };
}

/** Returns the claims. Throws if the contents are damaged. */
export function decodeClaims(contents: string): ClaimInfo[] {
  try {
    const file = JSON.parse(contents) as { readonly Data: string; readonly Checksum: number };
    if (crc32(file.Data) !== file.Checksum) throw new Error('the checksum does not match');
    const data = JSON.parse(file.Data) as {
      readonly ClaimInfoStateList: readonly ClaimState[] | null;
    };
    return (data.ClaimInfoStateList ?? []).map((state) => ({
      uid: state.ClaimUID,
      name: state.ClaimName,
      namespace: state.Namespace,
      pods: new Set(Object.keys(state.PodUIDs ?? {})),
      drivers: new Map(
        Object.entries(state.DriverState ?? {}).map(([driver, { Devices: devices }]) => [
          driver,
          (devices ?? []).map((device) => ({
            poolName: device.PoolName,
            deviceName: device.DeviceName,
            ...(device.ShareID !== null && { shareId: device.ShareID }),
            requestNames: device.RequestNames ?? [],
            cdiDeviceIds: device.CDIDeviceIDs ?? [],
          })),
        ]),
      ),
      isPrepared: false,
    }));
  } catch (error) {
    throw new Error('checkpoint is corrupted', { cause: error });
  }
}
