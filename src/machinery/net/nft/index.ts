// The kernel's nftables, through the program nft.

export { NftError, parseNftError, type NftErrorReason } from './error.ts';
export { NftSession, type NftSessionConfig } from './session.ts';
export {
  obstacleToNft,
  removalOf,
  systemNft,
  type Nft,
  type NftFamily,
  type NftTable,
} from './nft.ts';
