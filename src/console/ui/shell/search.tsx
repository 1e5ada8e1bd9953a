export const Search = (_: { onClose: () => void }) => null;
