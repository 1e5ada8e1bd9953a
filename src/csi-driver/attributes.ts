// The attributes of volumes that can be changed later: the driver's mutable parameters, which come
// from VolumeAttributesClasses.
//
// `readAheadKiB`: how many KiB the kernel reads ahead of a program that reads the image from the
// beginning to the end. Directories have none: they share the disk's.

import { RpcError } from '#machinery/grpc/rpc-error.ts';

export interface VolumeAttributes {
  /** Absent: the kernel's default. */
  readonly readAheadKiB?: number;
}

const MAX_READ_AHEAD_KIB = 65_536;

/**
 * Returns the attributes that the parameters change. Throws InvalidArgument for a parameter that
 * does not exist, has a wrong value, or is not one of volumes of this kind.
 */
export function attributesOf(
  parameters: Readonly<Record<string, string>>,
  backing: 'directory' | 'image',
): VolumeAttributes {
  const refuse = (message: string): RpcError => new RpcError('INVALID_ARGUMENT', message);
  let attributes: VolumeAttributes = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (name !== 'readAheadKiB') throw refuse(`the mutable parameter ${name} does not exist`);
    if (backing !== 'image') throw refuse(`${name} is for volumes with backing: image only`);
    const number = Number(value);
    if (!/^\d{1,5}$/.test(value) || number > MAX_READ_AHEAD_KIB)
      throw refuse(`${name} must be a number from 0 to ${MAX_READ_AHEAD_KIB}`);
    attributes = { ...attributes, readAheadKiB: number };
  }
  return attributes;
}
