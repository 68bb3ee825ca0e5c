// Runs a fuzz target over stored inputs: the plain test that goes with it. Arguments: EXTENSION FOLDER…; a corpus folder's files
// have no extension and are all taken, others only where the extension fits.
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t n);

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string extension = argv[1];
  for (int i = 2; i < argc; ++i) {
    int n_files = 0;
    std::error_code problem;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i], problem)) {
      const std::string found = entry.path().extension().string();
      if (!entry.is_regular_file(problem) || (!found.empty() && found != extension)) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(input.data()), input.size());
      ++n_files;
    }
    std::printf("%s: %d inputs\n", argv[i], n_files);
    if (problem || n_files == 0) return 1;
  }
  return 0;
}
