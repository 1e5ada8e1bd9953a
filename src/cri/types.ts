// TypeScript types of the CRI messages, derived from schema.ts.
//
// A message has two shapes. `Message<'X'>` is a response of a runtime: scalars, enums, lists and
// maps are always present (at least as 0, '', false, [] or {}), nested messages may be absent.
// `Input<'X'>` is an argument of a caller: every field may be left out. Every Message is a valid
// Input of the same name.
//
// Enums are their names as strings. 64-bit integers are numbers: exact to 2^53, so a timestamp in
// nanoseconds is exact to a quarter of a microsecond. `bytes` are Uint8Array.

import type { enums, messages } from './schema.ts';

type Messages = typeof messages;
type Enums = typeof enums;

/** The name of a CRI message. */
export type MessageName = keyof Messages;
/** The name of a CRI enum. */
export type EnumName = keyof Enums;
/** The values of a CRI enum, as strings. */
export type EnumValue<E extends EnumName> = keyof Enums[E] & string;

type ScalarTypes = {
  string: string;
  bool: boolean;
  bytes: Uint8Array;
  double: number;
  int32: number;
  uint32: number;
  int64: number;
  uint64: number;
};

type FieldType<T, Nested extends 'message' | 'input'> = T extends keyof ScalarTypes
  ? ScalarTypes[T]
  : T extends EnumName
    ? EnumValue<T>
    : T extends MessageName
      ? Nested extends 'message'
        ? Message<T>
        : Input<T>
      : T extends 'map<string,string>'
        ? Readonly<Record<string, string>>
        : T extends `${infer Item}[]`
          ? readonly FieldType<Item, Nested>[]
          : never;

type FieldTypeOf<F, Nested extends 'message' | 'input'> = F extends readonly [number, infer T]
  ? FieldType<T, Nested>
  : never;

type NestedKeys<N extends MessageName> = {
  [K in keyof Messages[N]]: Messages[N][K] extends readonly [number, infer T]
    ? T extends MessageName
      ? K
      : never
    : never;
}[keyof Messages[N]];

/** A message in a response of a runtime: only nested messages can be absent. */
export type Message<N extends MessageName> = {
  readonly [K in Exclude<keyof Messages[N], NestedKeys<N>>]: FieldTypeOf<Messages[N][K], 'message'>;
} & {
  readonly [K in NestedKeys<N>]?: FieldTypeOf<Messages[N][K], 'message'> | undefined;
};

/** A message as an argument of a caller: a missing field has its zero value. */
export type Input<N extends MessageName> = {
  readonly [K in keyof Messages[N]]?: FieldTypeOf<Messages[N][K], 'input'> | undefined;
};

export type PodSandboxConfig = Input<'PodSandboxConfig'>;
export type ContainerConfig = Input<'ContainerConfig'>;
export type ImageSpec = Input<'ImageSpec'>;
export type AuthConfig = Input<'AuthConfig'>;
export type Mount = Input<'Mount'>;
export type Device = Input<'Device'>;
export type LinuxContainerResources = Input<'LinuxContainerResources'>;
export type PodSandboxFilter = Input<'PodSandboxFilter'>;
export type ContainerFilter = Input<'ContainerFilter'>;
export type ContainerStatsFilter = Input<'ContainerStatsFilter'>;
export type PodSandboxStatsFilter = Input<'PodSandboxStatsFilter'>;
export type ImageFilter = Input<'ImageFilter'>;
export type RuntimeConfig = Input<'RuntimeConfig'>;

export type PodSandbox = Message<'PodSandbox'>;
export type PodSandboxStatus = Message<'PodSandboxStatus'>;
export type PodSandboxStatusResponse = Message<'PodSandboxStatusResponse'>;
export type PodSandboxStats = Message<'PodSandboxStats'>;
export type PodSandboxMetrics = Message<'PodSandboxMetrics'>;
export type MetricDescriptor = Message<'MetricDescriptor'>;
export type Container = Message<'Container'>;
export type ContainerStatus = Message<'ContainerStatus'>;
export type ContainerStatusResponse = Message<'ContainerStatusResponse'>;
export type ContainerStats = Message<'ContainerStats'>;
export type ContainerEvent = Message<'ContainerEventResponse'>;
export type Image = Message<'Image'>;
export type ImageStatusResponse = Message<'ImageStatusResponse'>;
export type ImageFsInfo = Message<'ImageFsInfoResponse'>;
export type FilesystemUsage = Message<'FilesystemUsage'>;
export type VersionResponse = Message<'VersionResponse'>;
export type StatusResponse = Message<'StatusResponse'>;
export type RuntimeCondition = Message<'RuntimeCondition'>;
export type RuntimeHandler = Message<'RuntimeHandler'>;
export type RuntimeFeatures = Message<'RuntimeFeatures'>;

export type PodSandboxState = EnumValue<'PodSandboxState'>;
export type ContainerState = EnumValue<'ContainerState'>;
export type ContainerEventType = EnumValue<'ContainerEventType'>;
export type NamespaceMode = EnumValue<'NamespaceMode'>;
export type StopSignal = EnumValue<'Signal'>;
