package dev.joinery.kernel.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;

final class HadoopSettingsTest {
  @Test
  void defaultsOfYarnAndMapReduceGoAndAllElseStays() {
    Configuration settings = new JobConf();
    settings.set("yarn.scheduler.maximum-allocation-mb", "4096");
    settings.set("fs.s3a.endpoint", "http://127.0.0.1:9000");
    assertNotNull(settings.get("mapreduce.map.memory.mb"));

    HadoopSettings.trim(settings);

    assertNull(settings.get("mapreduce.map.memory.mb"));
    assertNull(settings.get("yarn.nodemanager.vmem-pmem-ratio"));
    assertEquals("4096", settings.get("yarn.scheduler.maximum-allocation-mb"));
    assertEquals("http://127.0.0.1:9000", settings.get("fs.s3a.endpoint"));
    assertNotNull(settings.get("fs.AbstractFileSystem.file.impl"));
  }

  @Test
  void aCopyIsWithoutThemToo() {
    Configuration settings = new JobConf();

    HadoopSettings.trim(settings);

    assertNull(new Configuration(settings).get("mapreduce.map.memory.mb"));
  }

  @Test
  void defaultsOfNetworksAndStoresGoUnlessAUserHasSetOneOfTheirs() {
    Configuration settings = new JobConf();
    settings.set("fs.s3a.endpoint", "http://127.0.0.1:9000");

    HadoopSettings.trim(settings);

    assertNull(settings.get("hadoop.security.group.mapping"));
    assertNull(settings.get("ipc.client.connect.timeout"));
    assertNotNull(settings.get("fs.s3a.impl"));
    assertNotNull(settings.get("io.file.buffer.size"));
  }

  @Test
  void theClassesOfFileSystemsStay() {
    Configuration settings = new JobConf();

    HadoopSettings.trim(settings);

    assertNotNull(settings.get("fs.s3a.impl"));
    assertNotNull(settings.get("fs.AbstractFileSystem.hdfs.impl"));
    assertNull(settings.get("fs.s3a.multipart.size"));
  }
}
