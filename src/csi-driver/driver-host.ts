// The machine, as the driver uses it. Tests have a fake; system-host.ts has the real one.

import type { VolumeAttributes } from './attributes.ts';

export interface Usage {
  readonly total: number;
  readonly available: number;
  readonly used: number;
}

export interface FileSystemUsage {
  readonly bytes: Usage;
  readonly inodes: Usage;
}

export interface MountOptions {
  readonly fsType: string;
  readonly flags: readonly string[];
}

export interface DriverHost {
  /** Creates an empty directory that any user may write to, in place of whatever was there. */
  makeDirectory(path: string): Promise<void>;
  /** Creates a file of that size without contents, in place of whatever was there. */
  makeImage(path: string, bytes: number): Promise<void>;
  /** Enlarges an image. */
  growImage(path: string, bytes: number): Promise<void>;
  /** Copies a directory or an image, in place of whatever was there. */
  copy(from: string, to: string): Promise<void>;
  /** Deletes a directory with its contents, or a file. Never what is mounted below it. */
  remove(path: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Returns the usage of the file system that contains the path. */
  usage(path: string): Promise<FileSystemUsage>;

  /**
   * Attaches the image as a device, once. Returns the device's path. `readonly`: nothing can be
   * written to the device; one that is attached already stays as it is.
   */
  attach(image: string, readonly: boolean): Promise<string>;
  /** Detaches the image from its device. Idempotent. */
  detach(image: string): Promise<void>;
  /**
   * Makes a device as large as its image, and the file system on it, if there is one. Rejects with
   * FailedPrecondition where that is possible only while it is not mounted.
   */
  grow(device: string, mountPoint: string | undefined): Promise<void>;

  /** Sets the attributes of the device that the image is attached to, if it is attached. */
  tune(image: string, attributes: VolumeAttributes): Promise<void>;

  /**
   * Stops all writes to the file systems of the images, as far as they are mounted. Returns the
   * function that lets them go on. Rejects, with none stopped, if one cannot be.
   */
  freeze(images: readonly string[]): Promise<() => Promise<void>>;
  /** Lets writes go on that a process has stopped which ended meanwhile. Idempotent. */
  thaw(images: readonly string[]): Promise<void>;

  isMounted(path: string): Promise<boolean>;
  /** Mounts the device; formats it first if it is blank, or enlarges its file system. */
  mountDevice(device: string, path: string, options: MountOptions): Promise<void>;
  /** Makes a directory visible at the path, or a device as a file. */
  bind(source: string, path: string, readonly: boolean, flags: readonly string[]): Promise<void>;
  /** Unmounts the path, if it is mounted, and removes the empty mount point. Idempotent. */
  unmount(path: string): Promise<void>;
}
