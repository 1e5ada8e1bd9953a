import { describe, expect, test } from 'vitest';
import { complete, CriError, type ImageService } from '#cri/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import type { PodEvents } from '../events.ts';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import { ImageError, ImageManager, type ImageManagerConfig } from './image-manager.ts';

interface Pull {
  readonly image: string;
  /** Ends the pull: with an image, or with an error. */
  readonly end: (error?: Error) => void;
}

/** Starts a manager whose pulls end when the test says so. */
function start(settings: Partial<ImageManagerConfig> = {}) {
  const clock = new VirtualClock();
  const pulls: Pull[] = [];
  const messages: string[] = [];
  const images = {
    imageStatus: () => Promise.resolve(complete('ImageStatusResponse', {})),
    pullImage: ({ image = '' }: { readonly image?: string }) =>
      new Promise<string>((resolve, reject) => {
        pulls.push({
          image,
          end: (error) => (error === undefined ? resolve(`id of ${image}`) : reject(error)),
        });
      }),
  } as unknown as ImageService;
  const events = {
    container: (_pod: unknown, _container: unknown, type: string, reason: string, text: string) =>
      messages.push(`${type} ${reason} ${text}`),
  } as unknown as PodEvents;
  const manager = new ImageManager({ images, clock, events, ...settings });
  const ensure = (name: string, uid = name): Promise<string> =>
    manager.ensureImage(
      makePod({ metadata: { uid } }),
      { name, policy: 'Always', container: makeContainer('main') },
      [],
      {},
      new AbortController().signal,
    );
  /** Waits until so many pulls have begun. Returns the last one. */
  const begun = async (count: number): Promise<Pull> => {
    await expect.poll(() => pulls.length).toBe(count);
    return pulls.at(-1)!;
  };
  return { clock, pulls, messages, ensure, begun };
}

/** Returns the reason and the message of the ImageError. */
async function failureOf(attempt: Promise<string>): Promise<string> {
  const error = await attempt.then(
    () => undefined,
    (error_: unknown) => error_,
  );
  if (!(error instanceof ImageError)) throw new Error('no ImageError', { cause: error });
  return `${error.reason}: ${error.message}`;
}

describe('the rate of pulls', () => {
  test('a pull above it fails at once, and is backed off from', async () => {
    const { clock, pulls, messages, ensure, begun } = start({
      pullRate: { perSecond: 5, burst: 2 },
    });
    const [first, second] = [ensure('one:1'), ensure('two:1')];
    expect(await failureOf(ensure('three:1'))).toBe('ErrImagePull: pull QPS exceeded');
    expect(messages.at(-1)).toBe(
      'Warning Failed Failed to pull image "three:1": pull QPS exceeded',
    );
    expect(await failureOf(ensure('three:1'))).toBe(
      'ImagePullBackOff: Back-off pulling image "three:1": ErrImagePull: pull QPS exceeded',
    );
    expect(pulls.map(({ image }) => image)).toEqual(['one:1', 'two:1']);
    for (const { end } of pulls) end();
    expect(await Promise.all([first, second])).toEqual(['id of one:1', 'id of two:1']);
    // A token comes back every fifth of a second.
    await clock.advance('200ms');
    const fourth = ensure('four:1');
    (await begun(3)).end();
    expect(await fourth).toBe('id of four:1');
    expect(await failureOf(ensure('five:1'))).toBe('ErrImagePull: pull QPS exceeded');
  });

  test('the pulls of several pods for one image are one', async () => {
    const { pulls, ensure, begun } = start({ pullRate: { perSecond: 1, burst: 1 } });
    const both = [ensure('one:1', 'a'), ensure('one:1', 'b')];
    (await begun(1)).end();
    expect(await Promise.all(both)).toEqual(['id of one:1', 'id of one:1']);
    expect(pulls).toHaveLength(1);
  });
});

test('one pull at a time: the event has the time of the pull and that with waiting', async () => {
  const { clock, pulls, messages, ensure, begun } = start({ maxParallelPulls: 1 });
  const both = [ensure('one:1'), ensure('two:1')];
  await begun(1);
  await clock.advance('2s');
  expect(pulls.map(({ image }) => image)).toEqual(['one:1']);
  pulls[0]?.end();
  await both[0];
  await begun(2);
  await clock.advance('1s');
  pulls[1]?.end();
  await Promise.all(both);
  expect(messages.filter((message) => message.includes('Successfully'))).toEqual([
    'Normal Pulled Successfully pulled image "one:1" in 2s (2s including waiting). Image size: 0 bytes.',
    'Normal Pulled Successfully pulled image "two:1" in 1s (3s including waiting). Image size: 0 bytes.',
  ]);
});

test.each([
  [
    'RegistryUnavailable: dial tcp: connection refused',
    'RegistryUnavailable: image pull failed for one:1 because the registry is unavailable: dial tcp: ' +
      'connection refused',
  ],
  [
    'SignatureValidationFailed: no policy',
    'SignatureValidationFailed: image pull failed for one:1 because the signature validation failed: ' +
      'no policy',
  ],
  ['unexpected EOF', 'ErrImagePull: unexpected EOF'],
])('a failure that begins with %j', async (text, expected) => {
  const { ensure, begun } = start();
  const failure = failureOf(ensure('one:1'));
  (await begun(1)).end(new CriError('ImagePull', text));
  expect(await failure).toBe(expected);
});
