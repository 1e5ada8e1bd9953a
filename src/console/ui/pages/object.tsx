export const ObjectPage = (_: {
  typeName: string;
  namespace: string | undefined;
  name: string;
  tab: string | undefined;
}) => null;
