export default {
  test: {
    include: ["test/*.test.ts"],
    // Each test starts Python and a server, on machines that may be busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};
