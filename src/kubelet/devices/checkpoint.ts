// The file kubelet_internal_checkpoint, in upstream's layout: the devices of containers with the
// plugins' responses, and the registered devices. Upstream's kubelet reads what this one has
// written, and the reverse.
//
// The checksum is FNV-1a of the data as Go's spew library prints it, which go-spew.ts reproduces.

import { fnv32a } from '#machinery/text/hash.ts';
import { messageCodec } from '#machinery/grpc/message-codec.ts';
import { CorruptCheckpointError } from '../checkpoints/corrupt-checkpoint-error.ts';
import { type GoValue, spew } from '../checkpoints/go-spew.ts';
import type { DevicesPerNuma, PodDevicesEntry } from './pod-devices.ts';
import { devicePluginSchema } from './schema.ts';

/** The name of the file. */
export const DEVICE_CHECKPOINT = 'kubelet_internal_checkpoint';

export interface DeviceCheckpoint {
  readonly entries: readonly PodDevicesEntry[];
  /** The ids of healthy devices by resource. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
}

/** The file as JSON; null and missing are Go's nil. */
interface Data {
  readonly PodDeviceEntries: readonly Entry[] | null;
  readonly RegisteredDevices: Readonly<Record<string, readonly string[] | null>> | null;
}

interface Entry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: Readonly<Record<string, readonly string[] | null>> | null;
  /** A ContainerAllocateResponse as protobuf, in base64. */
  readonly AllocResp: string | null;
}

const response = messageCodec(devicePluginSchema, 'ContainerAllocateResponse');

/** Returns the contents of the file. */
export function encodeCheckpoint({ entries, registered }: DeviceCheckpoint): string {
  const data: Data = {
    PodDeviceEntries:
      entries.length === 0
        ? null
        : entries.map((entry) => ({
            PodUID: entry.podUid,
            ContainerName: entry.container,
            ResourceName: entry.resource,
            DeviceIDs: Object.fromEntries(entry.devices),
            AllocResp: response.encode(entry.response).toString('base64'),
          })),
    RegisteredDevices: Object.fromEntries(registered),
  };
  return JSON.stringify({ Data: data, Checksum: checksum(data) });
}

/** Throws a CorruptCheckpointError. */
export function decodeCheckpoint(contents: string): DeviceCheckpoint {
  let data: Data;
  let entries: readonly PodDevicesEntry[];
  try {
    const file = JSON.parse(contents) as { readonly Data: Data; readonly Checksum: number };
    data = file.Data;
    if (checksum(data) !== file.Checksum) throw new CorruptCheckpointError();
    entries = (data.PodDeviceEntries ?? []).map((entry) => ({
      podUid: entry.PodUID,
      container: entry.ContainerName,
      resource: entry.ResourceName,
      devices: perNuma(entry.DeviceIDs ?? {}),
      response: response.decode(Buffer.from(entry.AllocResp ?? '', 'base64')),
    }));
  } catch (error) {
    throw error instanceof CorruptCheckpointError
      ? error
      : new CorruptCheckpointError({ cause: error });
  }
  const registered = Object.entries(data.RegisteredDevices ?? {});
  return { entries, registered: new Map(registered.map(([name, ids]) => [name, ids ?? []])) };
}

function perNuma(ids: Readonly<Record<string, readonly string[] | null>>): DevicesPerNuma {
  return new Map(Object.entries(ids).map(([node, list]) => [Number(node), list ?? []]));
}

function checksum(data: Data): number {
  return fnv32a(spew(goData(data)));
}

/** Returns the data with Go's types, as upstream declares them. */
function goData(data: Data): GoValue {
  const text = (value: string): GoValue => ({ type: 'string', value });
  const strings = (list: readonly string[] | null): GoValue => ({
    type: '[]string',
    value: list === null ? null : list.map(text),
  });
  return {
    type: 'checkpoint.checkpointData',
    fields: {
      PodDeviceEntries: {
        type: '[]checkpoint.PodDevicesEntry',
        value:
          data.PodDeviceEntries?.map((entry): GoValue => {
            const { AllocResp: bytes, DeviceIDs: devices } = entry;
            return {
              type: 'checkpoint.PodDevicesEntry',
              fields: {
                PodUID: text(entry.PodUID),
                ContainerName: text(entry.ContainerName),
                ResourceName: text(entry.ResourceName),
                DeviceIDs: {
                  type: 'checkpoint.DevicesPerNUMA',
                  entries:
                    devices === null
                      ? null
                      : Object.entries(devices)
                          .toSorted(([a], [b]) => Number(a) - Number(b))
                          .map(([node, ids]) => [node, strings(ids)]),
                },
                AllocResp: {
                  type: '[]uint8',
                  value:
                    bytes === null
                      ? null
                      : [...Buffer.from(bytes, 'base64')].map((byte) => ({
                          type: 'uint8',
                          value: String(byte),
                        })),
                },
              },
            };
          }) ?? null,
      },
      RegisteredDevices: {
        type: 'map[string][]string',
        entries:
          data.RegisteredDevices === null
            ? null
            : Object.entries(data.RegisteredDevices)
                .toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
                .map(([name, ids]) => [name, strings(ids)]),
      },
    },
  };
}
