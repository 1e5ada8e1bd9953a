// The conversion between resource.k8s.io/v1beta1 and v1. In v1beta1 the fields of an exact request
// are fields of the request, and those of a device are in `basic`.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Conversions } from '#api/machinery/scheme.ts';
import type * as v1 from '../v1/types.ts';
import type * as beta from './types.ts';

type Request = Immutable<v1.DeviceRequest>;
type BetaRequest = Immutable<beta.DeviceRequest>;
type Spec = Immutable<v1.ResourceClaimSpec>;
type BetaSpec = Immutable<beta.ResourceClaimSpec>;
type Device = Immutable<v1.Device>;
type BetaDevice = Immutable<beta.Device>;

type SliceSpec = Immutable<v1.ResourceSliceSpec>;
type BetaSliceSpec = Immutable<beta.ResourceSliceSpec>;

/** An object, or a part of one as managed fields have it. */
interface Part<Spec> {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly spec?: Spec;
}

// Fields keep the order of the schema: an object in memory is what is written.

function requestToBeta({ name, exactly, firstAvailable }: Request): BetaRequest {
  const { deviceClassName = '', tolerations, capacity, ...others } = exactly ?? {};
  return {
    name,
    deviceClassName,
    ...others,
    ...(firstAvailable !== undefined && { firstAvailable }),
    ...(tolerations !== undefined && { tolerations }),
    ...(capacity !== undefined && { capacity }),
  };
}

function requestFromBeta({ name, firstAvailable, ...fields }: BetaRequest): Request {
  const { deviceClassName = '', ...others } = fields;
  // As upstream: whichever field of an exact request is set makes it one. Validation rejects both.
  const isExact = deviceClassName !== '' || Object.keys(others).length > 0;
  return {
    name,
    ...(isExact && { exactly: { deviceClassName, ...others } }),
    ...(firstAvailable !== undefined && { firstAvailable }),
  };
}

const deviceToBeta = ({ name, ...basic }: Device): BetaDevice => ({ name, basic });
const deviceFromBeta = ({ name, basic }: BetaDevice): Device => ({ name, ...basic });

function claimSpecToBeta(spec: Spec): BetaSpec {
  const { requests, ...devices } = spec.devices ?? {};
  // A claim without requests has null.
  return requests === undefined || requests === null
    ? (spec as BetaSpec)
    : { ...spec, devices: { requests: requests.map(requestToBeta), ...devices } };
}

function claimSpecFromBeta(spec: BetaSpec): Spec {
  const { requests, ...devices } = spec.devices ?? {};
  return requests === undefined || requests === null
    ? spec
    : { ...spec, devices: { requests: requests.map(requestFromBeta), ...devices } };
}

function sliceSpecToBeta({ allNodes, devices, nodeName, ...spec }: SliceSpec): BetaSliceSpec {
  const { perDeviceNodeSelection, sharedCounters, nodeSelector, ...pool } = spec;
  return {
    ...pool,
    // Without a pointer, an empty value is the same as an absent field.
    ...(nodeName !== undefined && nodeName !== '' && { nodeName }),
    ...(nodeSelector !== undefined && { nodeSelector }),
    ...(allNodes === true && { allNodes }),
    ...(devices !== undefined && { devices: devices.map(deviceToBeta) }),
    ...(perDeviceNodeSelection !== undefined && { perDeviceNodeSelection }),
    ...(sharedCounters !== undefined && { sharedCounters }),
  };
}

function sliceSpecFromBeta(spec: BetaSliceSpec): SliceSpec {
  const { devices, ...others } = spec;
  return devices === undefined ? others : { ...spec, devices: devices.map(deviceFromBeta) };
}

/** Converts the spec of an object, if it has one, and leaves out kind and apiVersion. */
function withSpec<From, To>(typed: Part<From>, convert: (spec: From) => To): object {
  const { kind: _, apiVersion: __, ...object } = typed;
  return object.spec === undefined ? object : { ...object, spec: convert(object.spec) };
}

export const claimToBeta = (claim: Part<Spec>): object => withSpec(claim, claimSpecToBeta);
export const claimFromBeta = (claim: Part<BetaSpec>): object => withSpec(claim, claimSpecFromBeta);

export const templateToBeta = (template: Part<{ readonly spec?: Spec }>): object =>
  withSpec(template, (outer) => withSpec(outer, claimSpecToBeta));
const templateFromBeta = (template: Part<{ readonly spec?: BetaSpec }>): object =>
  withSpec(template, (outer) => withSpec(outer, claimSpecFromBeta));

export const sliceToBeta = (slice: Part<SliceSpec>): object => withSpec(slice, sliceSpecToBeta);
export const sliceFromBeta = (slice: Part<BetaSliceSpec>): object =>
  withSpec(slice, sliceSpecFromBeta);

/** Converts an object of a kind that is the same in both versions. */
function same(typed: Part<unknown>): object {
  const { kind: _, apiVersion: __, ...object } = typed;
  return object;
}

const V1 = 'resource.k8s.io/v1';
const BETA1 = 'resource.k8s.io/v1beta1';
const BETA2 = 'resource.k8s.io/v1beta2';

/** Returns the conversions between all versions. v1beta2 is as v1. */
function between(
  toBeta: (object: never) => object,
  fromBeta: (object: never) => object,
): Conversions {
  return {
    [V1]: { [BETA1]: toBeta, [BETA2]: same },
    [BETA1]: { [V1]: fromBeta, [BETA2]: fromBeta },
    [BETA2]: { [V1]: same, [BETA1]: toBeta },
  };
}

export const resourceClaimConversions = between(claimToBeta, claimFromBeta);
export const resourceClaimTemplateConversions = between(templateToBeta, templateFromBeta);
export const resourceSliceConversions = between(sliceToBeta, sliceFromBeta);
export const deviceClassConversions = between(same, same);
