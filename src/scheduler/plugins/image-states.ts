// The states of one image on the nodes of a snapshot, by position: reading them from the nodes
// would miss the processor's cache for each of hundreds of nodes.

import { LruCache } from '#machinery/collections/lru.ts';
import type { ImageState, NodeInfo } from '../framework/node-info.ts';
import type { SnapshotReader } from '../framework/snapshot.ts';
import { SnapshotFollower } from '../framework/snapshot-changes.ts';

/** The number of images that are remembered. */
const IMAGES = 64;

/** By position; undefined for a node without the image. */
export type StatesByPosition = readonly (ImageState | undefined)[];

export class ImageStates {
  readonly #snapshot: SnapshotReader;
  readonly #images = new LruCache<string, FollowedImage>({ capacity: IMAGES });

  constructor(snapshot: SnapshotReader) {
    this.#snapshot = snapshot;
  }

  /** Returns the states in the current snapshot. `image`: a normalized name. */
  of(image: string): StatesByPosition {
    let followed = this.#images.get(image);
    if (followed === undefined) {
      followed = new FollowedImage(this.#snapshot, image);
      this.#images.set(image, followed);
    }
    return followed.states();
  }
}

class FollowedImage {
  readonly #snapshot: SnapshotReader;
  readonly #image: string;
  readonly #follower: SnapshotFollower;
  #states: (ImageState | undefined)[] = [];

  constructor(snapshot: SnapshotReader, image: string) {
    this.#snapshot = snapshot;
    this.#image = image;
    this.#follower = new SnapshotFollower(snapshot.changes);
  }

  states(): StatesByPosition {
    const { nodes } = this.#snapshot;
    const stateOn = ({ images }: NodeInfo): ImageState | undefined => images.get(this.#image);
    this.#follower.follow(
      () => {
        this.#states = nodes.map(stateOn);
      },
      (position) => {
        this.#states[position] = stateOn(nodes[position]!);
      },
    );
    return this.#states;
  }
}
