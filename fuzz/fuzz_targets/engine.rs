#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    rampmeter_fuzz::engine::run(input);
});
