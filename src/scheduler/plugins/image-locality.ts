// ImageLocality: prefers nodes that have the pod's images, in proportion to their size. An image
// that few nodes have counts less, so that pods are not concentrated on them.

import { NodesWith } from '../framework/nodes-with.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { ImageState, NodeInfo } from '../framework/node-info.ts';
import type { Pod } from '../framework/objects.ts';
import { type StateKey, stateKey } from '../framework/cycle-state.ts';
import { MAX_NODE_SCORE, type PreScorePlugin, type ScorePlugin } from '../framework/plugin.ts';
import { Status } from '../framework/status.ts';
import { noArgs } from './args.ts';
import { ImageStates, type StatesByPosition } from './image-states.ts';

const MIB = 1024 * 1024;
/** Smaller images are pulled quickly in any case. */
const MIN_BYTES = 23 * MIB;
/** Larger images count no more than this, per container. */
const MAX_BYTES = 1000 * MIB;

const SKIP = new Status('Skip', [], 'ImageLocality');
/** One normalized name for each container. */
const IMAGES: StateKey<readonly string[]> = stateKey('ImageLocality/images');
/** The states of these images on the nodes of the snapshot. */
const STATES: StateKey<readonly StatesByPosition[]> = stateKey('ImageLocality/states');

export const imageLocality: PluginRegistration = {
  name: 'ImageLocality',
  create(args, { snapshot }) {
    noArgs(imageLocality.name, args);
    const withImages = new NodesWith(snapshot, ({ images }) => images.size > 0);
    const imageStates = new ImageStates(snapshot);
    return {
      name: imageLocality.name,
      preScore(state, { pod }, nodes, positions) {
        if (withImages.count === 0) return SKIP;
        if (positions !== undefined) {
          const names = imagesOf(pod);
          const states = names.map((image) => imageStates.of(image));
          if (!states.some((each) => isOnAny(each, positions, nodes.length))) return SKIP;
          state.write(IMAGES, names);
          state.write(STATES, states);
          return undefined;
        }
        let images: readonly string[] | undefined;
        let found = false;
        for (const node of nodes) {
          if (node.images.size === 0) continue;
          images ??= imagesOf(pod);
          found = images.some((image) => node.images.has(image));
          if (found) break;
        }
        if (!found || images === undefined) return SKIP;
        state.write(IMAGES, images);
        return undefined;
      },
      score: (state, { pod }, node) =>
        imageScore(node, state.read(IMAGES) ?? imagesOf(pod), snapshot.nodes.length),
      scoreByPosition(state, _pod, nodes, positions, scores) {
        const images = state.read(STATES);
        if (images === undefined) return false;
        for (let i = 0; i < nodes.length; i++) {
          let bytes = 0;
          for (const states of images)
            bytes += scaledBytes(states[positions[i]!], snapshot.nodes.length);
          scores[i] = scoreOfBytes(bytes, images.length);
        }
        return true;
      },
    } satisfies PreScorePlugin & ScorePlugin;
  },
};

export function imageScore(node: NodeInfo, images: readonly string[], nodeCount: number): number {
  let bytes = 0;
  for (const image of images) bytes += scaledBytes(node.images.get(image), nodeCount);
  return scoreOfBytes(bytes, images.length);
}

/** Reports whether one of the first `count` positions has the image. */
function isOnAny(states: StatesByPosition, positions: readonly number[], count: number): boolean {
  for (let i = 0; i < count; i++) if (states[positions[i]!] !== undefined) return true;
  return false;
}

/** Returns the bytes of an image, less for one that few nodes have. */
function scaledBytes(state: ImageState | undefined, nodeCount: number): number {
  return state === undefined ? 0 : Math.trunc(state.sizeBytes * (state.nodes / nodeCount));
}

/** Returns the score for a node with so many bytes of the images of so many containers. */
function scoreOfBytes(bytes: number, containers: number): number {
  const most = MAX_BYTES * containers;
  const within = Math.min(Math.max(bytes, MIN_BYTES), most);
  return most <= MIN_BYTES
    ? 0
    : Math.trunc((MAX_NODE_SCORE * (within - MIN_BYTES)) / (most - MIN_BYTES));
}

function imagesOf(pod: Pod): readonly string[] {
  const names = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map((container) =>
    normalizedName(container.image ?? ''),
  );
  for (const volume of pod.spec.volumes ?? [])
    if (volume.image !== undefined) names.push(normalizedName(volume.image.reference ?? ''));
  return names;
}

/** Returns the name with a tag: the default tag if it has none. */
export function normalizedName(image: string): string {
  return image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image;
}
